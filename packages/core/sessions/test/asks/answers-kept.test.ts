/** How long the answer to an ask stays whole in the store. */
import { join } from "node:path";
import { newId } from "@aegis/contract/ids.ts";
import { createRedactor } from "@aegis/lib/redact.ts";
import { redactingStore } from "@aegis/store/redacting.ts";
import { fakeClock } from "@aegis/test/helpers/fake-clock.ts";
import { sessionRow } from "@aegis/test/helpers/rows.ts";
import { tempDir } from "@aegis/test/helpers/temp-dir.ts";
import { expect, it } from "vitest";
import { openStore } from "../../../../base/store/test/open-store.ts";
import { Asks } from "../../src/asks/asks.ts";

const secret = "hunter2-secret";
const log = { debug() {}, info() {}, warn() {}, error() {} };

async function scene() {
  const { store: bare } = await openStore(join(await tempDir(), "aegis.db"));
  const store = redactingStore(bare, createRedactor([secret]));
  const session = sessionRow();
  await store.transact((tx) => tx.sessions.insert(session));
  const newAsks = () => new Asks({ store, clock: fakeClock(1_000), log, timeoutMs: () => null });
  const question = {
    session: session.id,
    kind: "question" as const,
    question: "which key?",
    tool: null,
    detail: null,
    options: [],
  };
  return { store, newAsks, question };
}

it("one that a run waits for is whole until the run has recorded it, over a restart as well", async () => {
  const { store, newAsks, question } = await scene();
  const id = newId("ask", 1);
  const first = newAsks();
  await store.transact((tx) => first.openIn(tx, id, question));
  const waiting = first.settlement(id, new AbortController().signal);
  await first.answer(id, { choice: null, text: secret });
  expect((await waiting).answer?.text).toBe(secret);

  // The daemon dies here: the next one asks the store.
  expect((await newAsks().settlement(id, new AbortController().signal)).answer?.text).toBe(secret);
  await store.transact((tx) => tx.asks.markUsed(id));
  expect((await store.read.asks.get(id))?.answer?.text).toBe("[redacted]");
});

it("one that a turn waits for is whole for the turn only", async () => {
  const { store, newAsks, question } = await scene();
  const asks = newAsks();
  const waiting = asks.ask(question, new AbortController().signal);
  const opened = Promise.withResolvers<void>();
  store.onCommit((events) => {
    if (events.some(({ type }) => type === "ask.opened")) opened.resolve();
  });
  if ((await asks.list({ status: "open", limit: 1 })).length === 0) await opened.promise;
  const [ask] = await asks.list({ status: "open", limit: 1 });
  if (ask === undefined) throw new Error("nothing was asked");
  await asks.answer(ask.id, { choice: null, text: secret });
  expect((await waiting).answer?.text).toBe(secret);
  expect((await asks.get(ask.id)).answer?.text).toBe("[redacted]");
});
