/** Transactions that outlast a short loss of the database. */
import { join } from "node:path";
import { AegisError } from "@aegis/contract/errors.ts";
import { systemClock } from "@aegis/lib/clock.ts";
import { silentLogger } from "@aegis/lib/log.ts";
import { openSqliteStore } from "@aegis/store-sqlite/store.ts";
import { shakyStore } from "@aegis/test/helpers/shaky-store.ts";
import { memoryDir } from "@aegis/test/helpers/temp-dir.ts";
import { expect, it, onTestFinished } from "vitest";
import { patientStore } from "../src/patient.ts";
import type { Store } from "../src/store.ts";
import { OutcomeUnknownError, StoreAwayError, whileAway } from "../src/transact.ts";

async function sqlite(): Promise<Store> {
  const path = join(await memoryDir(), "aegis.db");
  const store = await openSqliteStore({ path, clock: systemClock, log: silentLogger });
  onTestFinished(() => store.close());
  return store;
}

const note = (text: string) => ({ type: "daemon.stopping" as const, session: null, data: { reason: text } });

it("runs a lost unit again, and stores it once", async () => {
  const shaky = shakyStore(await sqlite(), { units: 2 });
  const store = patientStore(shaky, silentLogger);
  let runs = 0;
  for (let count = 0; count < 3; count += 1)
    await store.transact(async (tx) => {
      runs += 1;
      await tx.events.append(note(String(count)), count);
    });
  expect(shaky.lost.units).toBe(2);
  expect(runs).toBe(5);
  expect((await store.read.events.list({ limit: 10 })).map(({ at }) => at)).toEqual([0, 1, 2]);
});

it("passes every other failure on at once", async () => {
  const store = patientStore(await sqlite(), silentLogger);
  let runs = 0;
  const fenced = store.transact(async () => {
    runs += 1;
    throw new AegisError("unavailable", "the node is fenced");
  });
  await expect(fenced).rejects.toThrow("the node is fenced");
  expect(runs).toBe(1);
});

it("does not wait for a database any longer once it is closed", async () => {
  const inner = await sqlite();
  const begun = Promise.withResolvers<void>();
  const away: Store = {
    ...inner,
    transact: () => {
      begun.resolve();
      return Promise.reject(new StoreAwayError("the server is away"));
    },
    close: async () => {},
  };
  const store = patientStore(away, silentLogger);
  const written = store.transact(async () => {});
  written.catch(() => {});
  await begun.promise;
  await store.close();
  await expect(written).rejects.toThrow("the server is away");
});

it("does not run a unit again that may have been stored; idempotent work is repeated", async () => {
  const inner = await sqlite();
  let tries = 0;
  const promoted: Store = {
    ...inner,
    transact: (unit) => {
      tries += 1;
      return tries === 1 ? Promise.reject(new OutcomeUnknownError("the standby cannot tell")) : inner.transact(unit);
    },
  };
  const store = patientStore(promoted, silentLogger);
  await expect(store.transact(async () => "done")).rejects.toThrow("cannot tell");
  expect(tries).toBe(1);
  tries = 0;
  const { signal } = new AbortController();
  const repetition = { clock: systemClock, log: silentLogger, signal, what: "a test" };
  expect(await whileAway(() => store.transact(async () => "done"), repetition)).toBe("done");
  expect(tries).toBe(2);
});
