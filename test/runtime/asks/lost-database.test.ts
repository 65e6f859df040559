/** A question whose transaction was lost and repeated counts its asker once. */
import { expect, it } from "vitest";
import { silentLogger } from "../../../src/lib/log.ts";
import { Asks } from "../../../src/runtime/asks/asks.ts";
import { patientStore } from "../../../src/store/patient.ts";
import { fakeClock } from "../../helpers/fake-clock.ts";
import { sessionRow } from "../../helpers/rows.ts";
import { shakyStore } from "../../helpers/shaky-store.ts";
import { memoryDir } from "../../helpers/temp-dir.ts";
import { openStore } from "../../store/open-store.ts";

it("withdraws the ask when all its askers have left", async () => {
  const { store: bare } = await openStore(`${await memoryDir()}/aegis.db`);
  const session = sessionRow();
  await bare.transact((tx) => tx.sessions.insert(session));
  // The second asker joins the ask of the first one in the unit that is lost, and again in its repetition.
  const shaky = shakyStore(bare, { units: 2 });
  const asks = new Asks({
    ...{ store: patientStore(shaky, silentLogger), clock: fakeClock(1_000), log: silentLogger, timeoutMs: () => null },
  });
  const question = {
    ...{ session: session.id, kind: "question" as const, question: "which key?" },
    ...{ tool: null, detail: null, options: [] },
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
