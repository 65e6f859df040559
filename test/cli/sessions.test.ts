import { describe, expect, it } from "vitest";
import { newId } from "../../src/contract/ids.ts";
import { aegisProject, offlineConfig } from "../helpers/aegis.ts";
import { waitUntil } from "../helpers/wait-until.ts";

type Sessions = { sessions: { handle: string; state: string; title: string; pending: number }[] };

it("starts, names, titles, lists and closes sessions", async () => {
  const project = await aegisProject();
  const spawned = await project.aegis("spawn", "helper", "--handle", "brave-hopper", "--title", "first");
  expect(spawned).toMatchObject({ code: 0, stdout: "brave-hopper (offline)\n" });
  expect((await project.aegis("rename", "brave-hopper", "calm-turing")).stdout).toBe(
    "brave-hopper is now calm-turing\n",
  );
  expect((await project.aegis("title", "calm-turing", "the second")).stdout).toBe("calm-turing: the second\n");
  const table = (await project.aegis("ps")).stdout;
  expect(table).toMatch(/calm-turing +helper \(offline\) +ready +- +- +\S.* +the second/);
  const agents = (await project.aegis("agents")).stdout;
  expect(agents).toMatch(/dev \* +scripted \(offline\)/);
  expect(agents).toMatch(/scripted +ready/);
  expect(agents).toMatch(/not here: claude-code, codex/);
  expect((await project.aegis("close", "calm-turing")).code).toBe(0);
  expect((await project.json<Sessions>("ps")).sessions).toEqual([]);
  expect((await project.json<Sessions>("ps", "--all")).sessions).toMatchObject([
    { handle: "calm-turing", state: "closed" },
  ]);
});

it("sends messages with a receipt, the answer, or once only", async () => {
  const project = await aegisProject();
  await project.aegis("spawn", "--handle", "brave-hopper");
  const id = newId("msg", Date.now());
  expect((await project.aegis("send", "brave-hopper", "hello", "--id", id, "--wait")).stdout).toContain(
    "I am brave-hopper",
  );
  const again = await project.json<{ receipt: { duplicate: boolean } }>("send", "brave-hopper", "hello", "--id", id);
  expect(again.receipt.duplicate).toBe(true);
  expect((await project.aegis("send", "brave-hopper", "hello", "--id", id, "--wait")).code).toBe(0);
  const piped = await project.pipe("count todos", "send", "brave-hopper", "-", "--wait", "--json");
  expect(JSON.parse(piped.stdout)).toMatchObject({ reason: "completed", handle: "brave-hopper", error: null });
  const history = (await project.aegis("history", "brave-hopper", "-n", "200")).stdout;
  expect(history.match(/← you: hello/g)).toHaveLength(1);
});

it("queues behind a turn, takes messages back and interrupts", async () => {
  // Longer than any machine takes for what follows.
  const story = "rules:\n  - { name: slow, when: always, steps: [{ stream: far too slow, chunk: 1, delay: 10000 }] }\n";
  const project = await aegisProject({
    ".aegis.yaml": "agents:\n  slow: { harness: scripted, playbook: slow.yaml }\n",
    "slow.yaml": story,
  });
  await project.aegis("spawn", "--handle", "brave-hopper", "-m", "begin");
  const queued = await project.json<{ receipt: { outcome: string; message: string } }>("send", "brave-hopper", "hello");
  expect(queued.receipt.outcome).toBe("queued");
  expect((await project.aegis("cancel", queued.receipt.message)).code).toBe(0);
  expect((await project.aegis("interrupt", "brave-hopper")).code).toBe(0);
  await waitUntil("the session is ready", async () => {
    const { sessions } = await project.json<Sessions>("ps");
    return sessions[0]?.state === "ready";
  });
  expect((await project.aegis("interrupt", "brave-hopper")).code).toBe(1);
  expect((await project.aegis("history", "brave-hopper")).stdout).toContain("turn interrupted");
});

it("tails events as lines and as JSON, and a closed pipe ends it quietly", async () => {
  const project = await aegisProject();
  await project.aegis("up");
  const tail = project.start("tail", "--after", "0");
  const json = project.start("tail", "--after", "0", "--json");
  await tail.shows("daemon");
  await project.aegis("spawn", "--handle", "brave-hopper", "-m", "hello");
  await tail.shows("turn completed");
  await json.shows('"turn.ended"');
  expect(tail.output.stdout).toContain("brave-hopper (offline)  ← you: hello");
  tail.child.kill("SIGINT");
  expect((await tail.ended).code).toBe(0);
  json.child.stdout.destroy();
  await project.aegis("send", "brave-hopper", "hello", "--wait");
  expect(await json.ended).toMatchObject({ code: 0, stderr: "" });
});

describe("arguments that are wrong", () => {
  it("names the nearest command, option and session, with the codes the documentation promises", async () => {
    const project = await aegisProject();
    const command = await project.aegis("stats");
    expect(command.code).toBe(2);
    expect(command.stderr).toContain("Did you mean status?");
    const option = await project.aegis("ps", "--al");
    expect(option.code).toBe(2);
    expect(option.stderr).toContain("--all");
    expect((await project.aegis("down", "--timeout", "soon")).code).toBe(2);
    expect((await project.aegis("send")).code).toBe(2);
    expect((await project.aegis("cancel", "nonsense")).code).toBe(2);
    expect((await project.aegis("config")).code).toBe(2);
    expect(await project.daemonPid()).toBeNull();

    await project.aegis("spawn", "--handle", "brave-hopper");
    const session = await project.aegis("send", "brave-hoper", "hi");
    expect(session.code).toBe(1);
    expect(`${session.stderr}`).toContain("brave-hopper");
    expect(await project.json("send", "brave-hoper", "hi")).toMatchObject({ error: { code: "not_found" } });
    const agent = await project.aegis("spawn", "helpr");
    expect(agent.stderr).toContain("helper");
    expect((await project.aegis("rename", "brave-hopper", "Not A Handle")).code).toBe(2);
  });

  it("shows help with an example, and the version", async () => {
    const project = await aegisProject({ ".aegis.yaml": offlineConfig });
    const help = await project.aegis("send", "--help");
    expect(help).toMatchObject({ code: 0, stderr: "" });
    expect(help.stdout).toContain("$ aegis send");
    expect((await project.aegis("--version")).stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
    expect((await project.aegis("--help")).stdout).toContain("completion");
  });
});

it("steers, and says why a session cannot fork or see an image", async () => {
  const project = await aegisProject();
  await project.aegis("spawn", "--handle", "brave-hopper");
  expect((await project.aegis("send", "brave-hopper", "hello", "--steer")).stdout).toBe("landed at brave-hopper\n");
  await project.aegis("send", "brave-hopper", "hello", "--wait");
  const forked = await project.aegis("fork", "brave-hopper");
  expect(forked).toMatchObject({ code: 2, stderr: expect.stringContaining("cannot fork a conversation") });
  const missing = await project.aegis("send", "brave-hopper", "look", "--image", "nowhere.png");
  expect(missing).toMatchObject({ code: 2, stderr: expect.stringContaining("nowhere.png cannot be read") });
  const image = await project.aegis("send", "brave-hopper", "look", "--image", ".aegis.yaml");
  expect(image).toMatchObject({ code: 2, stderr: expect.stringContaining("takes no images") });
});
