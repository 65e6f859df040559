/** What keeps a queue of the built daemon from going on, and what the command line says of it. */
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { aegisProject } from "../helpers/aegis.ts";
import { nativeConfig } from "../helpers/fake-models/config.ts";
import { openaiChatWire } from "../helpers/fake-models/openai-chat.ts";
import { fakeModels } from "../helpers/fake-models/server.ts";
import { waitUntil } from "../helpers/wait-until.ts";

type Status = {
  queues: { blocked_by: { constraint: string; spent: number; limit: number }[]; unblock_at: number | null }[];
  tasks: { id: string; status: string; error: string | null }[];
};

it("a queue over its budget holds its tasks and says why, and goes on when there is room", async () => {
  const models = await fakeModels(openaiChatWire, () => ({ text: "done", usage: { input: 5, output: 60 } }));
  const config = (tokens: number) =>
    nativeConfig(models, {
      more: `queues: { work: { agent: dev, budgets: [{ output_tokens: ${tokens}, window: 1h }] } }`,
    });
  const { root, aegis, json, start } = await aegisProject({ ".aegis.yaml": config(100) });
  for (const text of ["one", "two"])
    expect(await aegis("queue", "enqueue", "work", text, "--wait")).toMatchObject({ code: 0, stdout: "done\n" });
  const third = start("queue", "enqueue", "work", "three", "--wait");
  let status: Status = await json("queue", "status", "work");
  await waitUntil("it is held", async () => {
    status = await json<Status>("queue", "status", "work");
    return status.tasks.length === 1;
  });
  expect(status.tasks).toMatchObject([{ status: "pending" }]);
  expect(status.queues).toMatchObject([{ blocked_by: [{ constraint: "output_tokens", spent: 120, limit: 100 }] }]);
  expect(status.queues[0]?.unblock_at).toBeGreaterThan(Date.now());
  expect((await aegis("queue", "status", "work")).stdout).toMatch(
    /over budget, free in .*\n.*\n.*budget: 120 output tokens of 100/,
  );
  expect(models.requests).toHaveLength(2);
  await writeFile(join(root, ".aegis.yaml"), config(1_000));
  third.child.stdin.end();
  expect(await third.ended).toMatchObject({ code: 0, stdout: "done\n" });
});

it("tasks that failed for good are shown with the reason, once tried as often as they may be", {
  tags: "slow",
}, async () => {
  const { root, aegis, json } = await aegisProject({
    ".aegis.yaml":
      "agents: { dev: { harness: scripted, playbook: p.yaml } }\nqueues: { work: { agent: dev, retries: 1 }, other: { agent: dev } }\n",
    "p.yaml": "rules: [{ name: all, when: always, steps: [{ say: trying }, { fail: out of luck }] }]\n",
  });
  const failed = await aegis("queue", "enqueue", "work", "hopeless", "--wait");
  expect(failed).toMatchObject({ code: 1, stderr: expect.stringContaining("out of luck") });
  await aegis("queue", "enqueue", "other", "too", "--wait");
  const all = await json<Status>("queue", "status", "--failed");
  expect(all.tasks).toHaveLength(2);
  const own = await aegis("queue", "status", "work", "--failed");
  expect(own.stdout).toMatch(/out of luck .*failed .*tsk_\S+/);
  expect(own.stdout).not.toContain("other");
  expect(own.stderr).toContain("aegis queue retry");
  const { tasks } = await json<Status>("queue", "status", "work", "--failed");
  const id = tasks[0]?.id ?? "";
  const { attempts } = await json<{ attempts: unknown[] }>("task", "show", id);
  expect(attempts).toHaveLength(2);
  await writeFile(
    join(root, "p.yaml"),
    (await readFile(join(root, "p.yaml"), "utf8")).replace("{ fail: out of luck }", "{ say: luck at last }"),
  );
  expect((await aegis("queue", "retry", id)).code).toBe(0);
  await aegis("queue", "drain", "work");
  expect((await aegis("task", "show", id)).stdout).toContain("luck at last");
  expect((await json<Status>("queue", "status", "work", "--failed")).tasks).toEqual([]);
});
