/** The daemon itself checks what agents call done: tasks, subagents, workflow steps; by the built program. */
import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Client } from "@aegis/client/client.ts";
import { waitForRun } from "@aegis/client/wait-work.ts";
import type { TaskId } from "@aegis/contract/ids.ts";
import type { ReceiptView } from "@aegis/contract/receipt.ts";
import { expect, it } from "vitest";
import { aegisProject } from "../helpers/aegis.ts";
import { initGit } from "../helpers/git-project.ts";
import { type Project, sharedDaemon } from "../helpers/project.ts";
import { checkedFlows, checkedProject, enqueued, messagesOf, over, receiptsOf } from "../helpers/projects/checked.ts";
import { answerTo, createSession, eventsOf, say, talk } from "../helpers/talk.ts";
import { waitUntil } from "../helpers/wait-until.ts";

const files = { ...checkedProject, ".aegis/plugins/flows.js": checkedFlows };
const shared = sharedDaemon(files, { env: { UNRELATED: "not for checks" } });

async function started(): Promise<{ client: Client; project: Project }> {
  const { project, daemon } = shared;
  await initGit(project.dir).catch(() => {});
  return { client: daemon.client, project };
}

it("sends a failure back to the worker, and completes a task on the tree that passed", async () => {
  const { client } = await started();
  const boss = await createSession(client, { agent: "boss" });
  const given = await talk(client, boss.id, 'enqueue fixes "wrong fix.txt"');
  const { task_id } = JSON.parse(given) as { task_id: TaskId };
  const task = await over(client, task_id);
  expect(task).toMatchObject({ status: "completed", verified: true, result: "corrected fix.txt", attempts: 1 });
  const [passed, failed, ...others] = await receiptsOf(client, task_id);
  expect(others).toEqual([]);
  expect(failed).toMatchObject({ state: "failed", exit: 3, counts: null, problem: null });
  expect(failed?.message).toMatch(/^msg_/);
  expect(passed).toMatchObject({ state: "passed", exit: 0, message: null, kind: "task", subject: task_id });
  expect(passed?.counts).toEqual({ format: "tap", passed: 1, failed: 0, skipped: 0, partial: false });
  expect(passed?.tree).toMatch(/^[0-9a-f]{40}$/);
  expect(passed?.tree).not.toBe(failed?.tree);
  await waitUntil("the producer has read the result", async () => {
    const messages = await messagesOf(client, boss.id);
    return messages.filter(({ sender }) => sender.kind === "queue").every(({ status }) => status === "done");
  });
  const results = (await messagesOf(client, boss.id)).filter(({ sender }) => sender.kind === "queue");
  expect(results).toHaveLength(1);
  expect(results[0]?.sender).toMatchObject({ status: "ok", verified: true });
  expect(results[0]?.body).toMatch(
    /^\[check `.+` passed \(exit 0, 1 passed, [\d.]+ s\) on tree [0-9a-f]{12}\]\n\ncorrected/,
  );
  const status = JSON.parse(await talk(client, boss.id, `status ${task_id}`)) as object;
  expect(status).toMatchObject({ status: "completed", verified: true, receipt: expect.stringContaining("passed") });
});

it("fails a task whose check keeps failing, with its output", async () => {
  const { client } = await started();
  const id = await enqueued(client, "hard", { payload: "stubborn" });
  expect(await over(client, id)).toMatchObject({
    status: "failed",
    verified: false,
    attempts: 1,
    error: "the check `echo broken; exit 7` failed with exit code 7",
    receipt: { state: "failed", exit: 7, tail: "broken\n", message: null },
  });
  expect(await receiptsOf(client, id)).toHaveLength(2);
});

it("calls a task without a check unverified, and a receipt void once files have changed", {
  tags: "slow",
}, async () => {
  const { client, project } = await started();
  const boss = await createSession(client, { agent: "boss" });
  const { task_id } = JSON.parse(await talk(client, boss.id, 'enqueue free "write plain.txt text"')) as {
    task_id: TaskId;
  };
  expect(await over(client, task_id)).toMatchObject({
    status: "completed",
    verified: false,
    check: null,
    receipt: null,
  });
  const told = async () => (await messagesOf(client, boss.id)).find(({ sender }) => sender.kind === "queue")?.sender;
  await waitUntil("the producer is told", async () => (await told()) !== undefined);
  // The producer asked for no check, so the message says nothing of one.
  expect(await told()).toEqual({ kind: "queue", name: "free", task: task_id, status: "ok" });
  const checked = await enqueued(client, "free", { payload: "write kept.txt right", check: "grep -q right kept.txt" });
  const before = await over(client, checked);
  expect(before).toMatchObject({ status: "completed", verified: true, receipt: { state: "passed", note: null } });
  await writeFile(join(project.dir, "kept.txt"), "something else\n");
  expect(await over(client, checked)).toMatchObject({
    status: "completed",
    verified: false,
    receipt: { state: "void", note: "files have changed since" },
  });
  await writeFile(join(project.dir, "kept.txt"), "right\n");
  expect(await over(client, checked)).toMatchObject({ verified: true, receipt: { state: "passed" } });
});

it("binds no tree when the check itself keeps changing files", async () => {
  const { client } = await started();
  const id = await enqueued(client, "free", { payload: "stubborn", check: "echo x >> noise.txt" });
  const task = await over(client, id);
  expect(task).toMatchObject({ status: "completed", verified: false });
  expect(task.receipt).toMatchObject({ state: "void", tree: null, changed: ["noise.txt"] });
  expect(task.receipt?.problem).toBe("files changed while it ran: noise.txt");
  // Written once, the file is the same the next time.
  const stable = await enqueued(client, "free", { payload: "stubborn", check: "echo y > stable.txt" });
  expect(await over(client, stable)).toMatchObject({ verified: true });
});

it("ends a check at its timeout with all its processes, and keeps secrets and other variables from it", {
  tags: "slow",
}, async () => {
  const { client } = await started();
  const body = { payload: "stubborn", check: { command: "sleep 1000 & env; sleep 1000", max_retries: 0, timeout: 1 } };
  const { task } = await client.call("enqueueTask", { path: { queue: "free" }, body });
  const ended = await over(client, task.id);
  expect(ended).toMatchObject({ status: "failed", receipt: { exit: 124, problem: "it took longer than 1 s" } });
  expect(ended.receipt?.tail).toMatch(/^CI=1$/m);
  expect(ended.receipt?.tail).not.toMatch(/^UNRELATED/m);
});

it("ends the check of a task that is cancelled, and does not call it done", async () => {
  const { client, project } = await started();
  const id = await enqueued(client, "free", { payload: "stubborn", check: "touch gates-began; sleep 1000" });
  await waitUntil("the check runs", () => existsSync(join(project.dir, "gates-began")));
  await client.call("cancelTask", { path: { task: id } });
  await waitUntil("the check is over", async () => (await receiptsOf(client, id))[0]?.state === "refused");
  expect(await over(client, id)).toMatchObject({ status: "cancelled", verified: false });
  const { sessions } = await client.call("listSessions", { query: {} });
  expect(sessions.filter(({ title }) => title.includes(id))).toEqual([]);
});

it("needs the rights of a command for the check of an agent", async () => {
  const { client } = await started();
  const reader = await createSession(client, { agent: "reader" });
  expect(await talk(client, reader.id, 'enqueue free "stubborn" check "true"')).toMatch(/may not run commands/);
  const dev = await createSession(client, { agent: "dev" });
  const asked = await say(client, dev.id, 'enqueue free "stubborn" check "true"');
  const ask = async () =>
    (await client.call("listAsks", { query: { status: "open" } })).asks.find(({ session }) => session === dev.id);
  await waitUntil("a person is asked", async () => (await ask()) !== undefined);
  const found = await ask();
  expect(found?.question).toContain("at most 3 times: true");
  await client.call("answerAsk", { path: { ask: found?.id ?? ("" as never) }, body: { choice: "deny" } });
  expect(await answerTo(client, asked)).toMatch(/not approved/);
  expect((await eventsOf(client, "task.enqueued")).filter(({ data }) => data.task.producer === dev.id)).toEqual([]);
  const boss = await createSession(client, { agent: "boss" });
  expect(await talk(client, boss.id, 'enqueue hard "stubborn" check "true"')).toMatch(/has its own check/);
  const own = JSON.parse(await talk(client, boss.id, 'enqueue free "stubborn" check "true"')) as { task_id: TaskId };
  expect(await over(client, own.task_id)).toMatchObject({ status: "completed", verified: true, check: "true" });
});

it("checks a subagent, and tells its parent what the check said", { tags: "slow" }, async () => {
  const { client } = await started();
  const boss = await createSession(client, { agent: "boss" });
  const check = "grep -q right sub.txt || { echo make sub.txt say right; exit 1; }";
  await talk(client, boss.id, `spawn "wrong sub.txt" check "${check}"`);
  const announced = async () =>
    (await messagesOf(client, boss.id))
      .map(({ body }) => body)
      .filter((body) => body.startsWith("[Subagent Complete]"));
  await waitUntil("the parent is told", async () => (await announced()).length === 1);
  expect((await announced())[0]).toMatch(
    /^\[Subagent Complete\] "sub" \(done, verified, check `.+` passed \(exit 0, .+corrected/,
  );
  const { subagents } = await client.call("listSubagents", { query: {} });
  expect(subagents).toMatchObject([{ status: "done", verified: true, receipt: { kind: "subagent", state: "passed" } }]);
  await talk(client, boss.id, `spawn "stubborn" check "false"`);
  await waitUntil("the parent is told again", async () => (await announced()).length === 2);
  expect((await announced())[1]).toMatch(
    /\(error, check `false` failed \(exit 1, .+\)\. Result: the check `false` failed/,
  );
});

it("is shown by the command line, which says where there is no git", { tags: "slow" }, async () => {
  const { aegis, json } = await aegisProject(files);
  const done = await aegis("queue", "enqueue", "free", "stubborn", "--check", "echo 1..1; echo ok 1", "--wait");
  expect(done).toMatchObject({ code: 0, stdout: "done\n" });
  expect(done.stderr).toMatch(
    /^check `echo 1\.\.1; echo ok 1` passed \(exit 0, 1 passed, [\d.]+ s\); not a git project: no tree was recorded$/m,
  );
  const { receipts } = await json<{ receipts: ReceiptView[] }>("receipts");
  expect(receipts).toMatchObject([{ state: "passed", tree: null, tail: "1..1\nok 1\n" }]);
  const task = receipts[0]?.subject ?? "";
  for (const args of [
    ["receipts", task, "--output"],
    ["task", "show", task],
    ["history", receipts[0]?.session ?? ""],
  ])
    expect((await aegis(...args)).stdout).toMatch(/check `echo 1\.\.1; echo ok 1` passed/);
  expect((await aegis("receipts", task, "--output")).stdout).toContain("  | ok 1\n");
  expect((await aegis("task", "list")).stdout).toMatch(/completed \(verified\)/);
  const plain = await aegis("queue", "enqueue", "free", "stubborn", "--wait");
  expect(plain).toMatchObject({ code: 0, stderr: expect.stringContaining("unverified: the task has no check") });
  expect((await aegis("task", "list")).stdout).toMatch(/completed \(unverified\)/);
  const failed = await aegis(
    ...["queue", "enqueue", "free", "stubborn", "--wait", "--check", "exit 5", "--check-retries", "0"],
  );
  expect(failed).toMatchObject({ code: 1, stderr: expect.stringContaining("`exit 5` failed with exit code 5") });
  const flow = await aegis("workflow", "run", "mend", "--text", "stubborn", "--check", "echo ran");
  expect(flow).toMatchObject({ code: 0, stdout: "done\n" });
  expect(flow.stderr).toMatch(/^check `echo ran` passed \(exit 0, [\d.]+ s\); not a git project/m);
  expect((await aegis("receipts", "nowhere")).stderr).toContain('no session, task or run "nowhere"');
  expect((await aegis("queue", "enqueue", "free", "x", "--check-retries", "1")).code).toBe(2);
});

it("checks the steps of a workflow, and shows them with its run", { tags: "slow" }, async () => {
  const { client } = await started();
  const run = async (workflow: string, args: Record<string, unknown>) => {
    const { run: begun } = await client.call("startRun", { path: { workflow }, body: { args } });
    return waitForRun(client, begun.id);
  };
  const check = "grep -q right step.txt || { echo make step.txt say right; exit 1; }";
  const mended = await run("mend", { text: "wrong step.txt", check });
  expect(mended).toMatchObject({ status: "ok", result: "corrected step.txt" });
  expect(mended.receipts).toMatchObject([
    { kind: "step", state: "passed" },
    { kind: "step", state: "failed", exit: 1 },
  ]);
  const failed = await run("mend", { text: "stubborn", check: "echo no; exit 4" });
  expect(failed).toMatchObject({ status: "error", error: { kind: "expected", name: "PredicateFailed" } });
  expect(failed.error?.message).toBe("the check `echo no; exit 4` failed with exit code 4");
  const gave = await run("give", { payload: "stubborn", check: "true" });
  expect(gave).toMatchObject({ status: "ok", result: "done", receipts: [{ kind: "task", state: "passed" }] });
  const given = await run("give", { payload: "stubborn", check: "exit 2" });
  expect(given.result).toMatch(/^failed: task tsk_\w+ failed: the check `exit 2` failed with exit code 2 false$/);
});

it("lists the checks of a workflow in the message at its end, in its status and in its result", async () => {
  const { client } = await started();
  const boss = await createSession(client, { agent: "boss" });
  const check = "grep -q right told.txt || { echo make told.txt say right; exit 1; }";
  const start = (workflow: string, args: Record<string, unknown>) =>
    client.call("startRun", { path: { workflow }, body: { args, host: boss.id, callback: true } });
  await start("mend", { text: "wrong told.txt", check });
  const told = async () => (await messagesOf(client, boss.id)).filter(({ sender }) => sender.kind === "workflow");
  await waitUntil("the host is told", async () => (await told()).length === 1);
  const [message] = await told();
  // The failure that went back to the agent is not listed.
  expect(message?.body).toMatch(
    /^\[check `grep .+` passed \(exit 0, [\d.]+ s\) on tree [0-9a-f]{12}\]\n\ncorrected told\.txt$/,
  );
  await start("give", { payload: "stubborn", check: "exit 2" });
  await waitUntil("the host is told again", async () => (await told()).length === 2);
  const given = (await told())[1];
  expect(given?.body).toMatch(/^\[check `exit 2` failed \(exit 2, [\d.]+ s\) on tree \w{12}\]\n\nfailed: task tsk_/);
  const run = given?.sender.kind === "workflow" ? given.sender.run : "";
  const status = JSON.parse(await talk(client, boss.id, `flow-status ${run}`)) as object;
  expect(status).toMatchObject({ status: "ok", receipts: [expect.stringContaining("check `exit 2` failed")] });
});
