/** A queue whose node loses its lease while a worker starts. */

import type { SessionId } from "@aegis/contract/ids.ts";
import type { QueueSettings, Task } from "@aegis/contract/task.ts";
import { systemClock } from "@aegis/lib/clock.ts";
import { silentLogger } from "@aegis/lib/log.ts";
import { StoreOverError } from "@aegis/store/transact.ts";
import { expect, it } from "vitest";
import { Workers, type WorkersOptions } from "../../src/queues/workers.ts";

it("leaves its task to the next node, and neither fails it nor ends the process", async () => {
  const refused = new StoreOverError("the node lost its lease");
  const created = Promise.withResolvers<void>();
  let writes = 0;
  const options = {
    store: { read: {}, onCommit: () => () => {} },
    transact: async () => {
      writes += 1;
      throw refused;
    },
    clock: systemClock,
    log: silentLogger,
    sessions: {
      create: async () => {
        created.resolve();
        throw refused;
      },
    },
  };
  const workers = new Workers(options as unknown as WorkersOptions);
  const task = { id: "tsk_1", queue: "work", starter: null, producer: null, chain: null } as unknown as Task;
  // An unhandled rejection fails this test.
  workers.start(task, "ses_1" as SessionId, { agent: "dev", timeout: null } as unknown as QueueSettings);
  await created.promise;
  await new Promise((resolve) => setImmediate(resolve));
  expect(writes).toBe(0);
  workers.stop();
});
