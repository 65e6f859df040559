import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { aegisProject } from "@aegis/test/helpers/aegis.ts";
import { nodeCell } from "@aegis/test/helpers/cluster.ts";
import { waitUntil } from "@aegis/test/helpers/wait-until.ts";
import { describe, expect, it } from "vitest";

const files = {
  ".aegis.yaml": [
    "agents:",
    "  dev: { harness: scripted, playbook: playbook.yaml }",
    "queues:",
    "  work: { agent: dev }",
    "",
  ].join("\n"),
  "playbook.yaml": [
    "rules:",
    "  - name: hold",
    "    when: '/^hold (\\S+)/'",
    "    steps: [{ say: 'holding {1}' }, { wait: { gate: 'gate-{1}' } }, { say: 'released {1}' }]",
    "  - { name: fail, when: '/^fail/', steps: [{ say: trying }, { fail: broken }] }",
    "  - { name: any, when: always, steps: [{ say: 'did {text}' }] }",
    "",
  ].join("\n"),
};

type Task = { task: { id: string; status: string; result: string | null } };
type Queues = { queues: { name: string; source: string; paused: boolean; tasks: Record<string, number> }[] };

async function project() {
  const made = await aegisProject(files);
  return { ...made, open: (gate: string) => writeFile(join(made.root, `gate-${gate}`), "") };
}

describe("aegis queue", () => {
  it("is completed with names of queues and ids of tasks", async () => {
    const { aegis } = await project();
    const id = (await aegis("queue", "enqueue", "work", "one")).stdout.trim();
    expect((await aegis("__complete", "queue", "pause", "w")).stdout).toBe("work\tdev\n");
    await aegis("queue", "drain", "work");
    expect((await aegis("__complete", "task", "show", "tsk")).stdout).toBe(`${id}\twork, completed\n`);
  });

  it("adds, lists, pauses and removes queues", { tags: "slow" }, async () => {
    const { aegis, json } = await project();
    const added = await aegis(
      "queue",
      "add",
      "extra",
      "dev",
      "--max-parallel",
      "2",
      "--retries",
      "1",
      "--timeout",
      "5m",
    );
    expect(added).toMatchObject({ code: 0, stdout: "added queue extra, agent dev\n" });
    const twice = await aegis("queue", "add", "extra", "dev");
    expect(twice).toMatchObject({ code: 1, stderr: 'aegis: there is a queue "extra" already\n' });
    const unknown = await aegis("queue", "add", "other", "dve");
    expect(unknown.stderr).toContain('no agent "dve" (did you mean "dev"?)');
    const budget = await aegis("queue", "add", "other", "dev", "--budget", "a lot");
    expect(budget).toMatchObject({ code: 2, stderr: /"a lot" is no budget/ });
    expect((await aegis("queue", "list")).stdout).toMatch(/extra +dev +2 +- +- +- +- +added\n(.|\n)*work +dev +1/);
    expect((await aegis("queue", "pause", "work")).stdout).toBe("work is paused\n");
    expect((await json<Queues>("queue", "list")).queues).toMatchObject([
      { name: "extra", source: "added", paused: false },
      { name: "work", source: "config", paused: true },
    ]);
    expect((await aegis("queue", "resume", "work")).code).toBe(0);
    expect((await aegis("queue", "remove", "extra")).stdout).toBe("removed extra\n");
    expect(await aegis("queue", "remove", "work")).toMatchObject({
      code: 1,
      stderr: /declared in the project's files\n +remove it there: aegis config queue remove work/,
    });
    expect(await aegis("queue", "status", "wrok")).toMatchObject({ code: 1, stderr: /did you mean "work"/ });
  });

  it("enqueues once for a key, waits for the result, and exits as the task ended", async () => {
    const { aegis, json, pipe } = await project();
    expect(await pipe("from a pipe", "queue", "enqueue", "work", "--wait")).toMatchObject({
      code: 0,
      stdout: "did from a pipe\n",
    });
    const [first, second] = [
      await json<Task>("queue", "enqueue", "work", "hello", "--key", "k1"),
      await json<Task & { duplicate: boolean }>("queue", "enqueue", "work", "hello", "--key", "k1"),
    ];
    expect(second).toMatchObject({ duplicate: true, task: { id: first.task.id } });
    const failed = await aegis("queue", "enqueue", "work", "fail", "--wait");
    expect(failed).toMatchObject({ code: 1, stdout: "trying\n", stderr: /aegis: the task failed: broken/ });
    expect((await aegis("queue", "status", "--failed")).stdout).toMatch(
      new RegExp(`broken ← fail +work${nodeCell} +failed +1 `),
    );
    const { tasks } = await json<{ tasks: { id: string }[] }>("task", "list", "--status", "failed");
    expect(await aegis("queue", "retry", tasks[0]?.id ?? "")).toMatchObject({ code: 0 });
    expect((await aegis("task", "list", "--status", "broken")).code).toBe(2);
  });

  it("shows what runs and waits, cancels both, and drains", { tags: "slow" }, async () => {
    const { aegis, json, open } = await project();
    const running = (await aegis("queue", "enqueue", "work", "hold a")).stdout.trim();
    const waiting = await aegis("queue", "enqueue", "work", "two");
    expect(waiting.stderr).toBe("waits (position 1)\n");
    const status = (await aegis("queue", "status", "work")).stdout;
    expect(status).toContain("work: 1 running, 1 waiting, 0 done, 0 failed");
    expect(status).toMatch(/hold a .* dispatched +1 .*\n *two .*pending \(1\) +0 /);
    expect(await aegis("queue", "drain", "work", "--timeout", "100ms")).toMatchObject({
      code: 1,
      stderr: "aegis: work still has 2 tasks\n",
    });
    const last = (await aegis("queue", "enqueue", "work", "three")).stdout.trim();
    expect((await aegis("queue", "cancel", last)).stdout).toBe(`cancelled ${last}, it was pending\n`);
    expect((await aegis("queue", "cancel", running)).stdout).toBe(`cancelled ${running}, it was in_flight\n`);
    expect(await aegis("queue", "cancel", running)).toMatchObject({
      code: 1,
      stdout: `${running} is cancelled already\n`,
    });
    expect(await aegis("queue", "drain", "work")).toMatchObject({ code: 0, stdout: "work has no task left\n" });
    const shown = await json<Task>("task", "show", waiting.stdout.trim());
    expect(shown.task).toMatchObject({ status: "completed", result: "did two" });
    await open("a");
  });

  it("stops waiting after a time, and leaves the task at work", async () => {
    const { aegis, open } = await project();
    const late = await aegis("queue", "enqueue", "work", "hold a", "--wait", "--timeout", "300ms");
    expect(late).toMatchObject({ code: 1, stderr: /no result within 300ms; the task is dispatched\n +it goes on/ });
    await open("a");
    expect(await aegis("queue", "drain", "work")).toMatchObject({ code: 0 });
  });
});

describe("aegis task tail", () => {
  it("shows what the worker said and says until the task ends", { tags: "slow" }, async () => {
    const { aegis, start, open } = await project();
    const id = (await aegis("queue", "enqueue", "work", "hold a")).stdout.trim();
    const tail = start("task", "tail", id);
    await tail.shows("holding a\n");
    await open("a");
    expect(await tail.ended).toMatchObject({
      code: 0,
      stdout: "holding a\nreleased a\n",
      stderr: "unverified: the task has no check\n",
    });
    const over = await aegis("task", "tail", id);
    expect(over).toMatchObject({ code: 0, stdout: "holding a\nreleased a\n" });
    const failed = await aegis("queue", "enqueue", "work", "fail");
    await waitUntil("it failed", async () =>
      (await aegis("task", "show", failed.stdout.trim())).stdout.includes("broken"),
    );
    expect(await aegis("task", "tail", failed.stdout.trim())).toMatchObject({
      code: 1,
      stdout: "trying\n",
      stderr: "aegis: the task failed: broken\n",
    });
  });
});
