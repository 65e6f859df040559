/** Mastra's workflows with its libSQL store, which keeps a snapshot of each run. */
import { join } from "node:path";
import { Mastra } from "@mastra/core";
import { createStep, createWorkflow } from "@mastra/core/workflows";
import { LibSQLStore } from "@mastra/libsql";
import { z } from "zod";
import type { OpenPeer } from "../peer.ts";

type Client = { execute(sql: string): Promise<{ rows: Record<string, unknown>[] }> };

const data = z.object({ run: z.string() });

export const open: OpenPeer = async ({ dir, steps, syncAll, effect }) => {
  const step = (number: number) =>
    createStep({
      id: `step-${number}`,
      inputSchema: data,
      outputSchema: data,
      execute: async ({ inputData }) => {
        await effect(inputData.run, number);
        return inputData;
      },
    });
  const ask = createStep({
    id: "ask",
    inputSchema: data,
    outputSchema: data,
    resumeSchema: z.object({ answer: z.string() }),
    execute: async ({ inputData, resumeData, suspend }) => {
      if (resumeData === undefined) return suspend({});
      return inputData;
    },
  });
  let chain = createWorkflow({ id: "steps", inputSchema: data, outputSchema: data }).then(step(0));
  for (let number = 1; number < steps; number++) chain = chain.then(step(number));
  const stepsFlow = chain.commit();
  const askFlow = createWorkflow({ id: "ask", inputSchema: data, outputSchema: data })
    .then(step(0))
    .then(ask)
    .then(step(1))
    .commit();
  const storage = new LibSQLStore({ id: "bench", url: `file:${join(dir, "mastra.db")}` });
  const mastra = new Mastra({
    workflows: { steps: stepsFlow, ask: askFlow },
    storage,
    logger: false,
  });
  await mastra.getStorage()?.init();
  // It sets NORMAL itself and has no option for it.
  const { client } = storage as unknown as { client: Client };
  if (syncAll) await client.execute("PRAGMA synchronous=FULL");
  const level = (await client.execute("PRAGMA synchronous")).rows[0]?.synchronous;
  const must = (result: { status: string }, wanted: string) => {
    if (result.status !== wanted)
      throw new Error(`a run is ${result.status}, not ${wanted}: ${JSON.stringify(result)}`);
  };
  const run = async (id: string) => {
    const one = await mastra.getWorkflow("steps").createRun({ runId: id });
    must(await one.start({ inputData: { run: id } }), "success");
  };
  return {
    syncs: level === 2 ? "each commit (WAL, synchronous=FULL)" : "now and then (WAL, synchronous=NORMAL)",
    run,
    async finish(id) {
      const flow = mastra.getWorkflow("steps");
      const known = await flow.getWorkflowRunById(id);
      if (known?.status === "success") return;
      const one = await flow.createRun({ runId: id });
      // One that was only announced before the kill has nothing to restart.
      const isUnderWay = known?.status === "running";
      must(await (isUnderWay ? one.restart() : one.start({ inputData: { run: id } })), "success");
    },
    async park(id) {
      const one = await mastra.getWorkflow("ask").createRun({ runId: id });
      must(await one.start({ inputData: { run: id } }), "suspended");
    },
    async answer(id) {
      const one = await mastra.getWorkflow("ask").createRun({ runId: id });
      must(await one.resume({ step: "ask", resumeData: { answer: "yes" } }), "success");
    },
    async close() {},
  };
};
