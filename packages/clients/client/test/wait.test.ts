import type { NewEvent } from "@aegis/contract/event.ts";
import { newId } from "@aegis/contract/ids.ts";
import type { MessageStatus } from "@aegis/contract/message.ts";
import type { Turn, TurnReason } from "@aegis/contract/turn.ts";
import { message } from "@aegis/test/helpers/rows.ts";
import { waitUntil } from "@aegis/test/helpers/wait-until.ts";
import { expect, test } from "vitest";
import { notice, sessionA } from "../../../base/events/test/memory-events.ts";
import { type Running, start, token } from "../../../daemon/http/test/start.ts";
import { createClient } from "../src/client.ts";
import type { FollowedItem } from "../src/events.ts";
import { waitForMessage } from "../src/wait.ts";

const id = newId("msg", 1);
const turn = newId("trn", 1);

class Scene {
  readonly running: Running;
  constructor(running: Running) {
    this.running = running;
    this.set("pending");
  }

  get client() {
    return createClient({ url: this.running.server.url, token });
  }

  set(status: MessageStatus, inTurn: typeof turn | null = null): void {
    this.running.services.messages.set(id, message(sessionA, { id, status, turn: inTurn }));
  }

  commit(event: NewEvent): void {
    this.running.services.store.commit(event);
  }

  startTurn(which = turn): void {
    this.set("dispatched", which);
    this.commit({
      type: "turn.started",
      session: sessionA,
      data: { turn: which, messages: [id], spontaneous: false },
    });
  }

  endTurn(reason: TurnReason, which = turn): void {
    const row: Turn = {
      id: which,
      session: sessionA,
      started_at: 1,
      ended_at: 2,
      reason,
      error: null,
      text: "the answer",
      usage: null,
    };
    this.running.services.turnsById.set(which, row);
    if (reason !== "lost") this.set("done", which);
    const { error, text, usage } = row;
    this.commit({ type: "turn.ended", session: sessionA, data: { turn: which, reason, error, text, usage } });
  }

  following(): Promise<void> {
    return waitUntil("it follows", () => this.running.services.store.listeners.size === 1);
  }
}

async function scene(): Promise<Scene> {
  return new Scene(await start());
}

test("gives the events of the next turn that has answered before the end of the lost one was read", async () => {
  const s = await scene();
  const seen: string[] = [];
  const next = newId("trn", 2);
  const waiting = waitForMessage(s.client, id, sessionA, {
    onEvent: (item) => seen.push(item.kind === "event" ? item.event.type : item.kind),
  });
  await s.following();
  s.startTurn();
  s.endTurn("lost");
  s.startTurn(next);
  s.endTurn("completed", next);
  expect(await waiting).toMatchObject({ status: "answered", turn: { id: next } });
  expect(seen).toEqual(["turn.started", "turn.ended", "turn.started", "turn.ended"]);
});

test("waits for the turn that takes the message, and gives it", async () => {
  const s = await scene();
  const seen: string[] = [];
  const waiting = waitForMessage(s.client, id, sessionA, {
    onEvent: (item) => seen.push(item.kind === "event" ? item.event.type : item.kind),
  });
  await s.following();
  // Another message's turn ends first.
  s.commit({
    type: "turn.ended",
    session: sessionA,
    data: { turn: newId("trn", 9), reason: "completed", error: null, text: "", usage: null },
  });
  s.startTurn();
  s.commit(notice("working"));
  s.endTurn("failed");
  expect(await waiting).toMatchObject({ status: "answered", message: { id }, turn: { id: turn, reason: "failed" } });
  expect(seen).toEqual(["turn.ended", "turn.started", "session.notice", "turn.ended"]);
  await waitUntil("the subscription is freed", () => s.running.services.store.listeners.size === 0);
});

test("a message that a turn holds already, and one that was answered before", async () => {
  const s = await scene();
  s.startTurn();
  const waiting = waitForMessage(s.client, id, sessionA);
  await s.following();
  s.endTurn("completed");
  expect(await waiting).toMatchObject({ status: "answered", turn: { text: "the answer" } });
  expect(await waitForMessage(s.client, id, sessionA)).toMatchObject({ status: "answered" });
});

test("with a position from before the message, every event is told even when the answer came first", async () => {
  const s = await scene();
  s.startTurn();
  s.commit(notice("quick"));
  s.endTurn("completed");
  const seen: FollowedItem[] = [];
  await waitForMessage(s.client, id, sessionA, { after: 0, onEvent: (item) => seen.push(item) });
  expect(seen).toMatchObject([{ event: { seq: 1 } }, { event: { seq: 2 } }, { event: { seq: 3 } }]);
});

test("nothing is missed between the position, the message and the stream", async () => {
  for (const moment of ["listEvents", "getMessage", "streamEvents"] as const) {
    const s = await scene();
    const { server } = s.running;
    const client = createClient({
      url: server.url,
      token,
      fetch: async (input, init) => {
        const path = new URL(String(input)).pathname;
        const paths = { listEvents: "/v1/events", getMessage: `/v1/messages/${id}`, streamEvents: "/v1/events/stream" };
        const response = await fetch(input, init);
        if (path === paths[moment] && s.running.services.turnsById.size === 0) {
          s.startTurn();
          s.endTurn("completed");
        }
        return response;
      },
    });
    expect(await waitForMessage(client, id, sessionA)).toMatchObject({ status: "answered", turn: { id: turn } });
  }
});

test("a turn that a crash cut is not the end: the message is sent again, or is lost", async () => {
  const s = await scene();
  const waiting = waitForMessage(s.client, id, sessionA);
  await s.following();
  s.startTurn();
  s.endTurn("lost");
  s.set("pending");
  s.commit({ type: "message.redelivered", session: sessionA, data: { message: id } });
  const next = newId("trn", 2);
  s.startTurn(next);
  s.endTurn("completed", next);
  expect(await waiting).toMatchObject({ status: "answered", turn: { id: next } });
});

test.each([
  ["cancelled", { type: "message.cancelled", session: sessionA, data: { message: id } }],
  ["lost", { type: "message.lost", session: sessionA, data: { message: id, reason: "crash" } }],
  ["refused", { type: "session.closed", session: sessionA, data: { reason: "closed", refused: [id] } }],
] satisfies [MessageStatus, NewEvent][])("a message that is %s ends the wait", async (status, event) => {
  const s = await scene();
  const waiting = waitForMessage(s.client, id, sessionA);
  await s.following();
  s.set(status);
  s.commit(event);
  expect(await waiting).toMatchObject({ status, message: { id } });
});

test("aborting rejects with the reason", async () => {
  const s = await scene();
  const stop = new AbortController();
  const waiting = waitForMessage(s.client, id, sessionA, { signal: stop.signal });
  await s.following();
  const reason = new Error("enough");
  stop.abort(reason);
  await expect(waiting).rejects.toBe(reason);
});

test("ends by the message's status when the stream breaks at the same place again and again", async () => {
  const s = await scene();
  s.startTurn();
  let streams = 0;
  const broken = {
    ...s.client,
    open: async () => {
      streams += 1;
      if (streams === 2) s.endTurn("completed");
      return new Response("id: 0\n\n");
    },
  };
  const sleep = () => new Promise<void>((resolve) => setImmediate(resolve));
  expect(await waitForMessage(broken, id, sessionA, { sleep })).toMatchObject({
    status: "answered",
    turn: { id: turn },
  });
  expect(streams).toBeGreaterThan(2);
});
