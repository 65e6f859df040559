import { newId } from "@aegis/contract/ids.ts";
import { describe, expect, it } from "vitest";
import { Flow, lanesInOrder } from "../../src/model/flow.ts";
import { aMessage, event } from "./events.ts";

describe("the flow", () => {
  it("draws a message from its sender to its receiver, and orders children below their parent", () => {
    const flow = new Flow();
    const [a, b, c] = [newId("ses", 11), newId("ses", 12), newId("ses", 13)];
    const lane = (id: typeof a, handle: string, parent: typeof a | null, created_at: number) =>
      flow.addLane({ id, handle, agent: "dev", parent, created_at, depth: 0 });
    lane(a, "one", null, 1);
    lane(b, "two", null, 2);
    lane(c, "child", a, 3);
    const sent = aMessage(newId("msg", 9), { session: b, sender: { kind: "agent", session: a, handle: "one" } });
    for (const [at, of] of [a, c].entries()) {
      const id = newId("trn", 20 + at);
      flow.add(event("turn.started", { turn: id, messages: [], spontaneous: false }, of));
      flow.add(event("turn.ended", { turn: id, reason: "completed" }, of));
    }
    flow.add(event("message.admitted", { message: sent }, b));
    flow.add(event("turn.started", { turn: newId("trn", 99), messages: [sent.id], spontaneous: false }, b));
    expect(flow.arrows).toMatchObject([{ from: a, to: b, kind: "message" }]);
    expect(flow.arrows[0]?.taken).toBeGreaterThan(flow.arrows[0]?.sent ?? 0);
    expect(lanesInOrder(flow).map(({ handle, depth }) => [handle, depth])).toEqual([
      ["one", 0],
      ["child", 1],
      ["two", 0],
    ]);
  });

  it("tells who sent what to whom, also people, queues and workflows, and keeps a bound", () => {
    const flow = new Flow();
    const [a, b] = [newId("ses", 11), newId("ses", 12)];
    flow.addLane({ id: a, handle: "one", agent: "dev", parent: null, created_at: 1, depth: 0 });
    flow.add(event("message.admitted", { message: aMessage(newId("msg", 1), { session: a }) }, a));
    const task = { id: newId("tsk", 1), queue: "review", producer: a, worker: null, payload: "look" };
    flow.add(event("task.enqueued", { task }));
    flow.add(event("ask.opened", { ask: { id: newId("ask", 1), session: a, question: "May I?" } }, a));
    flow.add(event("run.started", { host: null, workflow: "tdd", args: { n: 1 } }));
    flow.add(event("subagent.spawned", { subagent: { parent: a, session: b, task: "count" } }));
    expect(flow.hops.map(({ from, to, label, text }) => [from, to, label, text])).toEqual([
      ["you", "one", "message", "hi"],
      ["one", "review", "task", "look"],
      ["one", "you", "ask", "May I?"],
      ["you", "tdd", "run", '{"n":1}'],
      ["one", b.slice(-6), "spawn", "count"],
    ]);
    for (let n = 0; n < 300; n++) flow.add(event("run.started", { host: a, workflow: `w${n}`, args: {} }));
    expect([flow.hops.length, flow.hops.at(-1)?.to]).toEqual([200, "w299"]);
  });
});
