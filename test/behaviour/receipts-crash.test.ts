// @module-tag slow
/** A check whose daemon is killed runs again, or its receipt is used: nothing is told twice, nothing is called done. */
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { waitForRun } from "@aegis/client/wait-work.ts";
import type { TaskId } from "@aegis/contract/ids.ts";
import { expect, it } from "vitest";
import { initGit } from "../helpers/git-project.ts";
import { testProject } from "../helpers/project.ts";
import {
  checkedFlows,
  checkedProject,
  enqueued,
  gated,
  messagesOf,
  over,
  receiptsOf,
} from "../helpers/projects/checked.ts";
import { createSession, talk } from "../helpers/talk.ts";
import { waitUntil } from "../helpers/wait-until.ts";

const files = { ...checkedProject, "gates/.keep": "", ".aegis/plugins/flows.js": checkedFlows };

it("runs the checks of a task, a subagent and a step again that a kill interrupted", async () => {
  const project = await testProject(files);
  await initGit(project.dir);
  const first = await project.start();
  const boss = await createSession(first.client, { agent: "boss" });
  await talk(first.client, boss.id, `spawn "stubborn" check "${gated("sub")}"`);
  const { subagents } = await first.client.call("listSubagents", { query: {} });
  const sub = subagents[0]?.run_id ?? "";
  const body = { args: { text: "stubborn", check: gated("step") } };
  const { run } = await first.client.call("startRun", { path: { workflow: "mend" }, body });
  const task = await enqueued(first.client, "free", { payload: "stubborn", check: gated("task") });
  const gates = ["sub", "step", "task"];
  const runsOf = (gate: string) => readFile(join(project.dir, "gates", `${gate}-runs`), "utf8").catch(() => "");
  const runs = async () => (await Promise.all(gates.map(runsOf))).join("").split("\n").filter(Boolean);
  // One folder runs one check at a time.
  await waitUntil("a check runs", async () => (await runs()).length === 1);
  await waitUntil("all have said that they are done", async () => {
    const { sessions } = await first.client.call("listSessions", { query: {} });
    return sessions.length === 4 && sessions.every(({ state, pending }) => state === "ready" && pending === 0);
  });
  expect((await first.client.call("getTask", { path: { task } })).task).toMatchObject({ status: "dispatched" });
  await first.kill();
  for (const gate of gates) await project.open(gate);
  const { client } = await project.start();
  expect(await over(client, task)).toMatchObject({ status: "completed", verified: true, attempts: 1 });
  expect(await waitForRun(client, run.id)).toMatchObject({ status: "ok", result: "done" });
  expect((await client.call("getRun", { path: { run: run.id } })).run.receipts).toMatchObject([{ state: "passed" }]);
  await waitUntil("the parent is told", async () =>
    (await messagesOf(client, boss.id)).some(({ body: text }) => text.startsWith("[Subagent Complete]")),
  );
  const told = (await messagesOf(client, boss.id)).filter(({ body: text }) => text.startsWith("[Subagent Complete]"));
  expect(told).toHaveLength(1);
  expect(told[0]?.body).toContain('"sub" (done, verified, check');
  // The one that was killed has run twice, and no other.
  expect(await runs()).toHaveLength(4);
  for (const of of [task, sub, run.id]) expect(await receiptsOf(client, of)).toHaveLength(1);
});

const preload = pathToFileURL(join(import.meta.dirname, "kill-at.ts")).href;

it.each([24, 40, 58, 74])(
  "tells each failure and each result once when it is killed at instant %i",
  async (instant) => {
    // The next worker writes the file of the one that was killed, without reading it.
    const settings = `${checkedProject[".aegis.yaml"]}claims: { automatic: false }\n`;
    const config = settings.replace("max_parallel: 2", "retries: 5");
    const project = await testProject({ ...files, ".aegis.yaml": config });
    await initGit(project.dir);
    const file = join(project.dir, "..", "kill-at");
    const first = await project.start({ env: { NODE_OPTIONS: `--import=${preload}`, KILL_AT: file } });
    const boss = await createSession(first.client, { agent: "boss" });
    await first.client.call("pauseQueue", { path: { queue: "free" } });
    const check = "grep -q right own.txt || { echo make own.txt say right; exit 1; }";
    const given = await talk(first.client, boss.id, `enqueue free "wrong own.txt" check "${check}"`);
    const { task_id: task } = JSON.parse(given) as { task_id: TaskId };
    await writeFile(file, String(instant));
    await first.client.call("resumeQueue", { path: { queue: "free" } }).catch(() => {});
    await Promise.race([first.exited, over(first.client, task).catch(() => {})]);
    await first.kill();
    const { client } = await project.start();
    await client.call("resumeQueue", { path: { queue: "free" } });
    const ended = await over(client, task);
    expect(ended, `${ended.error}\n${ended.result}`).toMatchObject({ status: "completed", verified: true });
    const receipts = await receiptsOf(client, task);
    expect(receipts.filter(({ state }) => state === "running")).toEqual([]);
    expect(receipts[0]).toMatchObject({ state: "passed", session: ended.worker });
    const { attempts } = await client.call("getTask", { path: { task } });
    for (const { worker } of attempts) {
      const told = (await messagesOf(client, worker)).filter(({ sender }) => sender.kind === "substrate");
      const returned = receipts.filter(({ session, message }) => session === worker && message !== null);
      expect(told.map(({ id }) => id).sort()).toEqual(returned.map(({ message }) => message).sort());
    }
    const results = (await messagesOf(client, boss.id)).filter(({ sender }) => sender.kind === "queue");
    expect(results).toHaveLength(1);
    expect(results[0]?.sender).toMatchObject({ status: "ok", verified: true });
  },
);
