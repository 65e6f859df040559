/** A queue whose node loses its lease while a task is to start. */

import { systemClock } from "@aegis/lib/clock.ts";
import { type Logger, silentLogger } from "@aegis/lib/log.ts";
import { StoreOverError } from "@aegis/store/transact.ts";
import { expect, it } from "vitest";
import { Dispatcher, type DispatcherOptions } from "../../src/queues/dispatcher.ts";

it("leaves its task to the next node, and neither fails it nor ends the process", async () => {
  const told = Promise.withResolvers<string>();
  const log: Logger = { ...silentLogger, error: (text) => told.resolve(text) };
  let writes = 0;
  const options = {
    store: { read: {}, onCommit: () => () => {} },
    transact: async () => {
      writes += 1;
      throw new StoreOverError("the node lost its lease");
    },
    clock: systemClock,
    log,
    definitions: { names: async () => ["work"] },
  };
  const dispatcher = new Dispatcher(options as unknown as DispatcherOptions);
  // An unhandled rejection fails this test.
  await dispatcher.start();
  expect(await told.promise).toBe("a queue could not start tasks");
  expect(writes).toBe(1);
  dispatcher.stop();
});
