// @module-tag slow
/** A question whose transaction was lost and repeated counts its asker once. */

import { silentLogger } from "@aegis/lib/log.ts";
import { patientStore } from "@aegis/store/patient.ts";
import { fakeClock } from "@aegis/test/helpers/fake-clock.ts";
import { sessionRow } from "@aegis/test/helpers/rows.ts";
import { shakyStore } from "@aegis/test/helpers/shaky-store.ts";
import { memoryDir } from "@aegis/test/helpers/temp-dir.ts";
import { expect, it } from "vitest";
import { openStore } from "../../../../base/store/test/open-store.ts";
import { Asks } from "../../src/asks/asks.ts";

it("withdraws the ask when all its askers have left", async () => {
  const { store: bare } = await openStore(`${await memoryDir()}/aegis.db`);
  const session = sessionRow();
  await bare.transact((tx) => tx.sessions.insert(session));
  // The second asker joins the ask of the first one in the unit that is lost, and again in its repetition.
  const shaky = shakyStore(bare, { units: 2 });
  const asks = new Asks({
    store: patientStore(shaky, silentLogger),
    clock: fakeClock(1_000),
    log: silentLogger,
    timeoutMs: () => null,
  });
  const question = {
    session: session.id,
    kind: "question" as const,
    question: "which key?",
    tool: null,
    detail: null,
    options: [],
  };
  const leaving = [new AbortController(), new AbortController()];
  const opened = Promise.withResolvers<void>();
  bare.onCommit((events) => {
    if (events.some(({ type }) => type === "ask.opened")) opened.resolve();
  });
  const first = asks.ask(question, (leaving[0] as AbortController).signal);
  await opened.promise;
  const second = asks.ask(question, (leaving[1] as AbortController).signal);
  for (const one of leaving) one.abort();
  expect((await Promise.all([first, second])).map(({ status }) => status)).toEqual(["withdrawn", "withdrawn"]);
  expect(shaky.lost.units).toBeGreaterThan(0);
  expect((await asks.list({ limit: 10 })).map(({ status }) => status)).toEqual(["withdrawn"]);
});
