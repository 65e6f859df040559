/** A project with a workflow of a plugin, and its runs. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Run, RunView } from "@aegis/contract/run.ts";
import { type AegisProject, aegisProject, offlineConfig } from "../aegis.ts";
import { waitUntil } from "../wait-until.ts";

export const head = 'import { workflow, z } from "aegis";\n';
export const file = ".aegis/plugins/flows.ts";
export const long = `${head}
export const long = workflow("long", async (engine) => {
  await engine.bash("echo first >> effects");
  await engine.checkpoint("half-way", {});
  await engine.bash("echo second >> effects");
  const answer = await engine.askHuman("Go on?");
  return "old " + answer;
});
`;
export const changed = long.replace("echo second", "echo other").replace('"old "', '"new "');

export const withPlugin = (text: string, more: Record<string, string> = {}) =>
  aegisProject({ ".aegis.yaml": offlineConfig, [file]: text, ...more });

export async function view(project: AegisProject, run: string): Promise<RunView> {
  return (await project.json<{ run: RunView }>("workflow", "status", run)).run;
}

export async function untilStatus(project: AegisProject, run: string, status: Run["status"]): Promise<RunView> {
  await waitUntil(
    `run ${run} is ${status}`,
    async () => {
      const { status: now } = await view(project, run);
      if (now !== status && now !== "running" && now !== "parked") throw new Error(`it is ${now}`);
      return now === status;
    },
    20_000,
  );
  return view(project, run);
}

export async function detached(project: AegisProject, ...args: string[]): Promise<string> {
  return (await project.json<{ run: Run }>("workflow", "run", ...args, "--detach")).run.id;
}

export async function asked(project: AegisProject): Promise<string> {
  let id = "";
  await waitUntil("it asks", async () => {
    const { asks } = await project.json<{ asks: { id: string }[] }>("asks");
    id = asks[0]?.id ?? "";
    return asks.length === 1;
  });
  return id;
}

export const effects = async (project: AegisProject) =>
  (await readFile(join(project.root, "effects"), "utf8")).trim().split("\n");

export const typed = `${head}
export const greet = workflow("greet", {
  description: "Greets.",
  input: z.object({
    name: z.string().describe("whom"),
    times: z.number().int().default(1),
    tags: z.array(z.string()).default([]),
    loud: z.boolean().default(false),
  }),
}, async (engine, args) => {
  await engine.checkpoint("begun", {});
  if (args.loud) await engine.askHuman("So loud?");
  return args;
});
export const endless = workflow("endless", async (engine) => {
  await engine.step("one", () => 1);
  for (;;) {}
});
`;
