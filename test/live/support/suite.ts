/**
 * What every harness must do under the built daemon. One session lives through all of it, in this order; where CLIs
 * differ, their `expected` says how.
 */
import { existsSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import type { Receipt } from "@aegis/contract/message.ts";
import type { SessionView } from "@aegis/contract/session.ts";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createSession, endings, eventsOf, messages, say } from "../../helpers/talk.ts";
import { failedStatuses, type LiveHarness } from "./harness.ts";
import { Recorder } from "./record.ts";
import { capabilitiesOf, columnOf, committedColumn } from "./table.ts";
import { heard, messageFrom, turnFor, turnOf, turnsEnded } from "./talk.ts";
import { liveTeam, looker, queue } from "./team.ts";

/** `peer` is the harness that work is handed to. */
export function daemonSuite(harness: LiveHarness, peer: LiveHarness): void {
  const team = liveTeam([harness, peer]);
  const record = new Recorder(harness);
  const { expected } = harness;
  const able = capabilitiesOf(harness.harness);
  let session: SessionView;
  beforeAll(async () => {
    session = await createSession(team.client, { agent: harness.harness });
  });
  afterAll(() => record.save());

  const ask = (text: string) => turnFor(team.client, session.id, text);
  const callPlane = (tool: string, input: object) => ask(`TOOL ${harness.planeTool(tool)} ${JSON.stringify(input)}`);
  const calls = () => team.model(harness).calls();
  /** A turn that has begun to speak and goes on until it is cut. */
  const hold = async (): Promise<Receipt> => {
    const stop = new AbortController();
    const speaking = heard(team.client, session.id, "holding", stop.signal);
    try {
      const receipt = await say(team.client, session.id, "HOLD");
      await speaking;
      return receipt;
    } finally {
      stop.abort();
    }
  };

  test("two turns share a memory", async () => {
    expect(await ask("remember 42")).toMatchObject({ reason: "completed", text: "reply: remember 42" });
    expect((await ask("again")).text).toBe("reply: again");
    expect(calls().at(-1)).toContain("remember 42");
    expect(calls().at(-1)).toContain(session.handle);
    record.see("memory", true);
  });

  test("it sees its peers", async () => {
    await createSession(team.client, { agent: peer.harness, handle: "distant-peer" });
    const { text } = await callPlane("aegis_list_sessions", {});
    expect(text).toContain(expected.readsLists ? "distant-peer" : "expected record, received array");
    record.see("lists", expected.readsLists);
  });

  test("it hands work to another harness without asking anybody", async () => {
    const { client } = team;
    const handoff = await callPlane("aegis_handoff", { target_handle: "distant-peer", context: "hello from afar" });
    expect(handoff.text).toContain("landed at distant-peer");
    const [handed] = await messages(client, "distant-peer");
    if (handed === undefined) throw new Error("nothing was handed over");
    expect(handed.sender).toMatchObject({ kind: "agent", handle: session.handle });
    expect(await turnOf(client, { message: handed.id, session: handed.session })).toMatchObject({
      reason: "completed",
      text: "reply: hello from afar",
    });
    expect(team.model(peer).calls().at(-1)).toContain(`> from agent:${session.handle} · `);
    expect(await eventsOf(client, "ask.opened", session.id)).toEqual([]);
    record.see("plane", true);
    record.see("handoff", true);
  });

  test("it delegates to a queue and is told of the end", async () => {
    const { client } = team;
    expect((await callPlane("aegis_enqueue", { queue, payload: "fetch it" })).text).toContain("tsk_");
    const told = await messageFrom(client, session.id, "queue");
    expect(told.sender).toMatchObject({ kind: "queue", name: queue, status: "ok" });
    expect((await turnOf(client, { message: told.id, session: session.id })).reason).toBe("completed");
    expect(calls().at(-1)).toContain("you said: fetch it");
    record.see("enqueue", true);
  });

  test("an interrupt ends the turn, and the next message is answered", async () => {
    const held = await hold();
    record.see("live_text", true);
    await team.client.call("interruptSession", { path: { session: session.id } });
    expect(await turnOf(team.client, held)).toMatchObject({ reason: "cancelled", error: null });
    expect((await ask("still there?")).text).toBe("reply: still there?");
    record.see("interrupt", true);
  });

  test.runIf(able.steer)("a message that joins the running turn reaches the model", async () => {
    const held = await hold();
    const body = { text: "by the way", mode: "steer" as const };
    const { receipt } = await team.client.call("sendMessage", { path: { session: session.id }, body });
    await team.client.call("interruptSession", { path: { session: session.id } });
    await turnOf(team.client, held);
    await turnOf(team.client, receipt);
    expect((await ask("on we go")).text).toBe("reply: on we go");
    expect(calls().at(-1)).toContain("by the way");
  });

  test.runIf(able.fork)("a fork begins with its memory, and keeps what it hears to itself", async () => {
    const { client } = team;
    const { session: fork } = await client.call("forkSession", { path: { session: session.id }, body: {} });
    expect((await turnFor(client, fork.id, "only for the fork")).text).toBe("reply: only for the fork");
    expect(calls().at(-1)).toContain("remember 42");
    expect((await ask("still me?")).text).toBe("reply: still me?");
    expect(calls().at(-1)).not.toContain("only for the fork");
  });

  test("a tool is denied with a reason, then allowed", async () => {
    const { client, project } = team;
    const file = join(project, "made.txt");
    const before = calls().length;
    const denied = await say(client, session.id, harness.makeFile(file));
    await answerAsk({ choice: "deny", text: "not on my watch" });
    expect((await turnOf(client, denied)).reason).toBe("completed");
    expect(existsSync(file)).toBe(false);
    const [result] = (await eventsOf(client, "turn.tool_result", session.id)).slice(-1);
    expect(result?.data).toMatchObject({ is_error: true });
    const after = calls().length;

    const allowed = await say(client, session.id, harness.makeFile(file));
    await answerAsk({ choice: "allow", text: "" });
    expect((await turnOf(client, allowed)).reason).toBe("completed");
    expect(existsSync(file)).toBe(true);
    record.see("ask", true);
    const told = calls()[after] ?? "";
    expect(told).toContain(expected.denial);
    expect(told.includes("not on my watch")).toBe(true);
    const atOnce = calls()[after - 1]?.includes("not on my watch") === true;
    const refused = after - before > 1 ? "that it was refused; " : "";
    const seen = atOnce ? "the reason" : `${refused}the reason with the next message`;
    record.see("denial", expected.denialRaces ? "the reason, in the same turn or with the next message" : seen);
  });

  test("a call of a tool that is not its agent's is refused, and nobody is asked", async () => {
    const { client, project } = team;
    const file = join(project, "kept-out.txt");
    const held = await createSession(client, { agent: looker(harness.harness) });
    const asksBefore = (await eventsOf(client, "ask.opened")).length;
    expect((await turnFor(client, held.id, harness.makeFile(file))).reason).toBe("completed");
    expect(existsSync(file)).toBe(false);
    expect((await eventsOf(client, "ask.opened")).length).toBe(asksBefore);
    expect((await turnFor(client, held.id, "still there?")).text).toBe("reply: still there?");
    record.see("scope", true);
  });

  test.each(failedStatuses)("a model that answers %i", async (status) => {
    const wanted = expected.failures[status];
    const sent = await say(team.client, session.id, `FAIL ${status}`);
    if (wanted === "tries again") {
      const before = calls().length;
      await expect.poll(() => calls().length, { timeout: 20_000 }).toBeGreaterThan(before + 1);
      await team.client.call("interruptSession", { path: { session: session.id } });
      expect(await turnOf(team.client, sent)).toMatchObject({ reason: "cancelled" });
    } else {
      expect(await turnOf(team.client, sent)).toMatchObject({ reason: "failed", error: { code: wanted } });
    }
    record.see(`failure_${status}`, wanted);
    expect((await ask("next")).text).toBe("reply: next");
  });

  test("kill -9 of the CLI fails its turn only", async () => {
    const held = await hold();
    team.killClis();
    expect(await turnOf(team.client, held)).toMatchObject({ reason: "failed", error: { code: "died" } });
    expect((await ask("back")).text).toBe("reply: back");
    expect(calls().at(-1)).toContain("remember 42");
    record.see("died", true);
  });

  test("kill -9 of the daemon leaves nothing running and repeats nothing", async () => {
    const held = await hold();
    const processes = team.processes();
    expect(processes).not.toEqual([]);
    const before = await endings(team.client, session.id);
    await team.killDaemon();

    await team.startDaemon();
    const { client } = team;
    await turnsEnded(client, session.id, before.length + 1);
    expect(await endings(client, session.id)).toEqual([...before.slice(0, -1), "lost", "completed"]);
    expect(team.processes().filter((pid) => processes.includes(pid))).toEqual([]);
    const [cut] = (await messages(client, session.id)).slice(-1);
    expect(cut).toMatchObject({ id: held.message, status: "done" });
    expect(await eventsOf(client, "message.redelivered", session.id)).toEqual([]);
    expect(calls().at(-1)).toContain("remember 42");
    expect(calls().at(-1)).toContain("> from substrate · ");
    expect((await ask("on we go")).text).toBe("reply: on we go");
    record.see("daemon_killed", true);
  });

  test("without its history it says so and starts afresh", async () => {
    await team.stopDaemon();
    for (const path of await harness.histories(team.places)) {
      expect(existsSync(path)).toBe(true);
      await rm(path, { recursive: true });
    }
    await team.startDaemon();
    expect(await ask("who am I?")).toMatchObject({ reason: "completed", text: "reply: who am I?" });
    expect(calls().at(-1)).not.toContain("remember 42");
    expect((await ask("and now?")).text).toBe("reply: and now?");
    const notices = await eventsOf(team.client, "session.notice", session.id);
    expect(notices.map((event) => event.data)).toMatchObject([
      { level: "warning", text: expect.stringMatching(/history|conversation was lost/) },
    ]);
    record.see("history_gone", true);
  });

  test("the table in the documentation says what was seen", async () => {
    expect(await committedColumn(harness.harness)).toEqual(columnOf(await record.seen()));
  });

  async function answerAsk(body: { choice: string; text: string }): Promise<void> {
    const { client } = team;
    await expect.poll(async () => (await client.call("listAsks")).asks.length, { timeout: 20_000 }).toBe(1);
    const [open] = (await client.call("listAsks")).asks;
    if (open === undefined) throw new Error("the ask was taken back");
    await client.call("answerAsk", { path: { ask: open.id }, body });
  }
}
