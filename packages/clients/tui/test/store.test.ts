import type { Client } from "@aegis/client/client.ts";
import { withSession } from "@aegis/client/model/board.ts";
import { emptyTeam } from "@aegis/client/model/team.ts";
import { AegisError } from "@aegis/contract/errors.ts";
import type { Event } from "@aegis/contract/event.ts";
import { newId } from "@aegis/contract/ids.ts";
import { sessionRow } from "@aegis/test/helpers/rows.ts";
import { describe, expect, it } from "vitest";
import { sessionView } from "../../../daemon/http/test/fake-services.ts";
import { emptyModel } from "../src/model.ts";
import { Store } from "../src/store.ts";

const session = sessionRow();
const total = 100_000;
const perTurn = 20;

/** Event `seq` of a conversation of 100,000 events: 5,000 turns of 20. */
function eventAt(seq: number): Event {
  const turn = `trn_${Math.floor((seq - 1) / perTurn)}`;
  const place = (seq - 1) % perTurn;
  const base = { seq, at: seq, session: session.id };
  if (place === 0) return { ...base, type: "turn.started", data: { turn, messages: [], spontaneous: false } } as never;
  if (place === perTurn - 1)
    return {
      ...base,
      type: "turn.ended",
      data: { turn, reason: "completed", error: null, text: "", usage: null },
    } as never;
  return { ...base, type: "turn.text", data: { turn, message: `m${seq}`, text: `text ${seq}` } } as never;
}

type Call = { name: string; query?: { before?: number; limit?: number } };

function storeWith(lastSeq: number, fail: () => boolean = () => false) {
  const calls: Call[] = [];
  const problems: unknown[] = [];
  const call = async (name: string, input: Call = { name }) => {
    calls.push({ name, ...(input.query === undefined ? {} : { query: input.query }) });
    if (fail()) throw new AegisError("unavailable", "no daemon answers");
    if (name === "listMessages") return { messages: [] };
    if (name !== "history") return {};
    const { before = total + 1, limit = 200 } = input.query ?? {};
    const from = Math.max(1, before - limit);
    return {
      events: Array.from({ length: before - from }, (_, index) => eventAt(from + index)),
      more: from > 1,
      messages: [],
    };
  };
  const client = { url: "", call, open: call } as unknown as Client;
  const signal = AbortSignal.abort();
  const store = new Store({ client, signal, onChange() {}, onEvent() {}, onProblem: (error) => problems.push(error) });
  store.model = { ...emptyModel(), state: withSession(emptyTeam(lastSeq), { ...sessionView, ...session }) };
  return { store, calls, problems };
}

const textsOf = (store: Store) =>
  (store.model.conversations[session.id]?.transcript.rows ?? [])
    .filter(({ body }) => body.kind === "text")
    .map(({ seq }) => seq);

describe("a conversation of 100,000 events", () => {
  it("opens with one page and loads older ones as needed, without a gap or a double", async () => {
    const { store, calls } = storeWith(total);
    await store.openSession(session.id);
    await store.openSession(session.id);
    expect(calls.filter(({ name }) => name === "history")).toEqual([{ name: "history", query: { limit: 100 } }]);
    await Promise.all([store.pages.loadOlder(session.id), store.pages.loadOlder(session.id)]);
    await store.pages.loadOlder(session.id);
    const seqs = Array.from({ length: 1_100 }, (_, index) => total - 1_099 + index);
    expect(textsOf(store)).toEqual(seqs.filter((seq) => ![0, perTurn - 1].includes((seq - 1) % perTurn)));
  });

  it("takes events that are newer than the stream's position from the stream only", async () => {
    const { store } = storeWith(total - 5);
    await store.openSession(session.id);
    for (let seq = total - 4; seq <= total; seq++) store.take({ kind: "event", event: eventAt(seq) });
    const seqs = textsOf(store);
    expect(new Set(seqs).size).toBe(seqs.length);
    expect(seqs.at(-1)).toBe(total - 1);
  });

  it("keeps a bounded part while it grows", async () => {
    const { store } = storeWith(1);
    await store.openSession(session.id);
    for (let seq = 2; seq <= 12_000; seq++) store.take({ kind: "event", event: eventAt(seq) });
    expect(textsOf(store).length).toBeLessThan(3_300);
  });
});

it("keeps a message until the daemon accepts it, and tells other failures", async () => {
  let away = true;
  const { store, problems } = storeWith(1, () => away);
  const outgoing = { id: newId("msg", 1), session: session.id, text: "hi", mode: "queue", attachments: [] } as const;
  await store.send(outgoing);
  expect(store.model.outbox).toEqual([outgoing]);
  away = false;
  await store.send({ ...outgoing, id: newId("msg", 2) });
  expect(store.model.outbox).toEqual([outgoing]);
  expect(problems).toEqual([]);
});
