/** Units that read, decide by what they read, write, meet conflicts and fail, on few rows, chosen by a seed. */

import { isAegisError } from "@aegis/contract/errors.ts";
import { type MessageId, newId, type SessionId } from "@aegis/contract/ids.ts";
import type { Store, StoreTx } from "@aegis/store/store.ts";
import { createRandom, type Random } from "../../chaos/random.ts";
import { message, sessionRow } from "../helpers/rows.ts";

const count = 80;

type Run = (units: (() => Promise<unknown>)[]) => Promise<PromiseSettledResult<unknown>[]>;
/** Rows that only these units use, and the number of the last event before them. */
type Rows = { sessions: SessionId[]; messages: MessageId[]; before: number };
type Plan = {
  unit: number;
  session: SessionId;
  other: SessionId;
  id: MessageId;
  reads: number;
  steps: number[];
  /** Goes on after an error that a unit may expect. */
  swallows: boolean;
  fails: boolean;
};

/**
 * What the units gave back and what they left, without ids. Each call uses rows of its own, and the same seed chooses
 * the same units, so that two runs can be compared.
 */
export async function randomUnits(store: Store, seed: number, run: Run): Promise<unknown> {
  const random = createRandom(seed);
  const added = Array.from({ length: 3 }, () => sessionRow());
  await store.transact(async (tx) => {
    for (const row of added) await tx.sessions.insert(row);
  });
  const rows: Rows = {
    sessions: added.map(({ id }) => id),
    messages: Array.from({ length: count }, () => newId("msg", 1)),
    before: await store.read.events.lastSeq(),
  };
  const plans = Array.from({ length: count }, (_, unit) => planUnit(random, rows, unit));
  const results = await run(plans.map((plan) => () => store.transact((tx) => runUnit(tx, plan, rows))));
  const left = rows.sessions.map(async (session) => ({
    title: (await store.read.sessions.get(session))?.title,
    messages: (await store.read.messages.list(session)).map(({ body, status }) => [body, status]),
    events: (await store.read.events.list({ session, limit: 1_000 })).map(({ seq, at }) => [seq - rows.before, at]),
  }));
  return {
    outcomes: results.map((result) => (result.status === "fulfilled" ? result.value : codeOf(result.reason))),
    left: await Promise.all(left),
  };
}

function planUnit(random: Random, { sessions, messages }: Rows, unit: number): Plan {
  return {
    unit,
    session: random.pick(sessions),
    other: random.pick(sessions),
    // Most messages are new; the others exist already, or another unit inserts them.
    id: messages[random.next() < 0.7 ? unit : random.between(0, count - 1)] ?? newId("msg", 1),
    reads: random.between(0, 5),
    steps: Array.from({ length: random.between(0, 4) }, () => random.between(0, 5)),
    swallows: random.next() < 0.5,
    fails: random.next() < 0.2,
  };
}

async function runUnit(tx: StoreTx, plan: Plan, rows: Rows): Promise<unknown[]> {
  const { unit, session, id, steps, swallows, fails } = plan;
  const seen: unknown[] = await Promise.all(firstReads(tx, plan, rows));
  const body = JSON.stringify([unit, seen]).slice(0, 200);
  const notice = { type: "session.notice", session, data: { level: "info", text: body } } as const;
  const kinds = [
    () => tx.messages.insert(message(session, { id, body })),
    () => tx.messages.insert(message(newId("ses", 1), { body })),
    () => tx.messages.setStatus([id], "done", null),
    () => tx.sessions.update(session, { title: body }),
    async () => void seen.push((await tx.events.append(notice, unit)).seq - rows.before),
    async () => void seen.push(await tx.messages.countPending(session)),
  ];
  for (const step of steps)
    await kinds[step]?.().catch((error: unknown) => {
      seen.push(codeOf(error));
      if (!swallows) throw error;
    });
  if (fails) throw new Error(`unit ${unit} fails`);
  return seen;
}

function firstReads(tx: StoreTx, { unit, session, other, id, reads }: Plan, { messages, before }: Rows) {
  const kinds: (() => Promise<unknown>[])[] = [
    () => [tx.sessions.get(session).then((row) => row?.title), tx.messages.get(id).then((row) => row?.body)],
    () => [tx.messages.countPending(session), tx.sessions.get(other).then((row) => row?.title)],
    () => [tx.messages.list(other, { status: "pending" }).then((found) => found.map(({ body }) => body))],
    () => [tx.events.lastSeq().then((seq) => seq - before)],
    () => [
      tx.events.list({ session, limit: 1_000 }).then((events) => events.map(({ at }) => at)),
      tx.messages.get(messages[unit - 1] ?? id).then((row) => row?.status),
    ],
    () => [],
  ];
  return kinds[reads]?.() ?? [];
}

function codeOf(error: unknown): string {
  return isAegisError(error) ? error.code : String(error);
}
