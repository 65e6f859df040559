import { newId } from "@aegis/contract/ids.ts";
import { aegisProject } from "@aegis/test/helpers/aegis.ts";
import { nodeCell } from "@aegis/test/helpers/cluster.ts";
import { waitUntil } from "@aegis/test/helpers/wait-until.ts";
import { expect, it } from "vitest";

type Sessions = { sessions: { handle: string; state: string; title: string; pending: number; unseen: number }[] };

it("starts, names, titles, lists and closes sessions", async () => {
  const project = await aegisProject();
  const spawned = await project.aegis("spawn", "helper", "--handle", "brave-planck", "--title", "first");
  expect(spawned).toMatchObject({ code: 0, stdout: "brave-planck (offline)\n" });
  expect((await project.aegis("rename", "brave-planck", "calm-galois")).stdout).toBe(
    "brave-planck is now calm-galois\n",
  );
  expect((await project.aegis("title", "calm-galois", "the second")).stdout).toBe("calm-galois: the second\n");
  const table = (await project.aegis("ps")).stdout;
  expect(table).toMatch(new RegExp(`^the second +helper \\(offline\\)${nodeCell} +ready +.* calm-galois$`, "m"));
  const agents = (await project.aegis("agents")).stdout;
  expect(agents).toMatch(/dev \* +scripted \(offline\)/);
  expect(agents).toMatch(/scripted +ready/);
  expect(agents).toMatch(/not installed: claude-code, codex/);
  expect((await project.aegis("close", "calm-galois")).code).toBe(0);
  expect((await project.json<Sessions>("ps")).sessions).toEqual([]);
  expect((await project.json<Sessions>("ps", "--all")).sessions).toMatchObject([
    { handle: "calm-galois", state: "closed" },
  ]);
});

it("sends messages with a receipt, the answer, or once only", async () => {
  const project = await aegisProject();
  await project.aegis("spawn", "--handle", "brave-planck");
  const id = newId("msg", Date.now());
  expect((await project.aegis("send", "brave-planck", "hello", "--id", id, "--wait")).stdout).toContain(
    "I am brave-planck",
  );
  const again = await project.json<{ receipt: { duplicate: boolean } }>("send", "brave-planck", "hello", "--id", id);
  expect(again.receipt.duplicate).toBe(true);
  expect((await project.aegis("send", "brave-planck", "hello", "--id", id, "--wait")).code).toBe(0);
  const piped = await project.pipe("count todos", "send", "brave-planck", "-", "--wait", "--json");
  expect(JSON.parse(piped.stdout)).toMatchObject({ reason: "completed", handle: "brave-planck", error: null });
  const history = (await project.aegis("history", "brave-planck", "-n", "200")).stdout;
  expect(history.match(/← you: hello/g)).toHaveLength(1);
});

it("counts an answer as read that it printed, and as unread that only a program got", { tags: "slow" }, async () => {
  const project = await aegisProject();
  const unread = async () => (await project.json<Sessions>("ps")).sessions.map(({ unseen }) => unseen);
  await project.aegis("run", "--keep", "hello");
  const [{ handle } = { handle: "" }] = (await project.json<Sessions>("ps")).sessions;
  expect(await unread()).toEqual([0]);
  await project.aegis("send", handle, "hello again", "--wait");
  expect(await unread()).toEqual([0]);
  await project.json("send", handle, "hello to a program", "--wait");
  expect(await unread()).toEqual([1]);
});

it("queues behind a turn, takes messages back and interrupts", async () => {
  // Longer than any machine takes for what follows.
  const story = "rules:\n  - { name: slow, when: always, steps: [{ stream: far too slow, chunk: 1, delay: 10000 }] }\n";
  const project = await aegisProject({
    ".aegis.yaml": "agents:\n  slow: { harness: scripted, playbook: slow.yaml }\n",
    "slow.yaml": story,
  });
  await project.aegis("spawn", "--handle", "brave-planck", "-m", "begin");
  const queued = await project.json<{ receipt: { outcome: string; message: string } }>("send", "brave-planck", "hello");
  expect(queued.receipt.outcome).toBe("queued");
  expect((await project.aegis("cancel", queued.receipt.message)).code).toBe(0);
  expect((await project.aegis("interrupt", "brave-planck")).code).toBe(0);
  await waitUntil("the session is ready", async () => {
    const { sessions } = await project.json<Sessions>("ps");
    return sessions[0]?.state === "ready";
  });
  expect((await project.aegis("interrupt", "brave-planck")).code).toBe(1);
  expect((await project.aegis("history", "brave-planck")).stdout).toContain("turn interrupted");
});

it("tails events as lines and as JSON, and a closed pipe ends it quietly", { tags: "slow" }, async () => {
  const project = await aegisProject();
  await project.aegis("up");
  const tail = project.start("tail", "--after", "0");
  const json = project.start("tail", "--after", "0", "--json");
  await tail.shows("daemon");
  await project.aegis("spawn", "--handle", "brave-planck", "-m", "hello");
  await tail.shows("turn completed");
  await json.shows('"turn.ended"');
  expect(tail.output.stdout).toContain("brave-planck (offline)  ← you: hello");
  tail.child.kill("SIGINT");
  expect((await tail.ended).code).toBe(0);
  json.child.stdout.destroy();
  await project.aegis("send", "brave-planck", "hello", "--wait");
  expect(await json.ended).toMatchObject({ code: 0, stderr: "" });
});
