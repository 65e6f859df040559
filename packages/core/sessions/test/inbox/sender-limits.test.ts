import type { SessionId } from "@aegis/contract/ids.ts";
import { defaultPerMinute } from "@aegis/contract/message.ts";
import { completed, eventsOfType, gated, testDriver, testRuntime } from "@aegis/test/helpers/runtime.ts";
import { tempDir } from "@aegis/test/helpers/temp-dir.ts";
import { waitUntil } from "@aegis/test/helpers/wait-until.ts";
import { describe, expect, it } from "vitest";
import { SenderLimits } from "../../src/inbox/sender-limits.ts";

const agent = (id: string) => ({ kind: "agent", session: id as SessionId, handle: id }) as const;

describe("an agent that sends too much", () => {
  it("is told so, and may go on when the minute is over; others are not concerned", () => {
    let now = 1_000;
    const limits = new SenderLimits({ now: () => now, sleep: async () => {} }, () => 3);
    for (let i = 0; i < 3; i++) limits.count(agent("a"));
    expect(() => limits.count(agent("a"))).toThrow("refused: you have sent 3 messages within a minute");
    limits.count(agent("b"));
    now += 60_001;
    limits.count(agent("a"));
  });

  it("is refused at the inbox, and nothing of it is kept", async () => {
    const runtime = await testRuntime(await tempDir(), testDriver(gated().reply));
    const { session } = await runtime.sessions.create({});
    const peer = await runtime.sessions.create({});
    const sender = { kind: "agent", session: peer.session.id, handle: peer.session.handle } as const;
    const send = (body: string) => runtime.inbox.admit({ session: session.id, sender, body });
    for (let i = 0; i < defaultPerMinute; i++) await send(`message ${i}`);
    await expect(send("one too many")).rejects.toThrow(/within a minute/);
    await runtime.inbox.admit({ session: session.id, sender: { kind: "human" }, body: "a person may" });
    const bodies = (await eventsOfType(runtime.store, "message.admitted")).map((event) => event.data.message.body);
    expect(bodies).toHaveLength(defaultPerMinute + 1);
    expect(bodies).not.toContain("one too many");
  });

  it("has said once what it says again before it was read", async () => {
    const gate = gated();
    const driver = testDriver(gate.reply);
    const runtime = await testRuntime(await tempDir(), driver);
    const { session } = await runtime.sessions.create({ prompt: "work" });
    const peer = await runtime.sessions.create({});
    await waitUntil("the turn runs", () => driver.turns.length === 1);
    const sender = { kind: "agent", session: peer.session.id, handle: peer.session.handle } as const;
    const send = () => runtime.inbox.admit({ session: session.id, sender, body: "are you done?" });
    expect([(await send()).duplicate, (await send()).duplicate]).toEqual([false, true]);
    expect(await eventsOfType(runtime.store, "message.admitted")).toHaveLength(2);
  });
});

describe("a call of a tool", () => {
  it("is recorded with who made it and how it went", async () => {
    const driver = testDriver(async function* ({ spec, signal }) {
      await spec.host.tools.call("aegis_list_agents", {}, { key: "1", signal });
      await spec.host.tools.call("aegis_handof", { target_handle: "x" }, { key: "2", signal });
      yield completed;
    });
    const runtime = await testRuntime(await tempDir(), driver);
    const { session } = await runtime.sessions.create({ prompt: "go" });
    await waitUntil("both are recorded", async () => (await eventsOfType(runtime.store, "tool.called")).length === 2);
    const calls = await eventsOfType(runtime.store, "tool.called");
    expect(calls).toMatchObject([
      { session: session.id, data: { tool: "aegis_list_agents", outcome: "ok", error: null } },
      {
        data: {
          tool: "aegis_handof",
          outcome: "error",
          error: expect.stringContaining('did you mean "aegis_handoff"'),
        },
      },
    ]);
  });
});
