/** An engine whose store cannot write. */
import { join } from "node:path";
import { AegisError } from "@aegis/contract/errors.ts";
import { silentLogger } from "@aegis/lib/log.ts";
import type { Store } from "@aegis/store/store.ts";
import { StoreOverError } from "@aegis/store/transact.ts";
import { fakeClock } from "@aegis/test/helpers/fake-clock.ts";
import { tempDir } from "@aegis/test/helpers/temp-dir.ts";
import { act, define } from "@aegis/test/suites/engine-suite.ts";
import { expect, it, onTestFinished } from "vitest";
import { openStore } from "../../store/test/open-store.ts";
import { EmbeddedEngine } from "../src/embedded/engine.ts";

async function working(signal?: AbortSignal) {
  const { store: inner } = await openStore(join(await tempDir(), "aegis.db"));
  onTestFinished(() => inner.close());
  const clock = fakeClock(1_000_000);
  const refused = Promise.withResolvers<void>();
  let refusal: AegisError | null = null;
  const store: Store = {
    ...inner,
    onCommit: (listener, types, from) => inner.onCommit(listener, types, from),
    transact: async (unit) => {
      if (refusal === null) return inner.transact(unit);
      refused.resolve();
      throw refusal;
    },
  };
  const hooks = { onGivenUp: async () => {}, onEnd: async () => "none" as const, afterEnd: async () => {} };
  const more = signal === undefined ? {} : { signal };
  const engine = new EmbeddedEngine({ store, clock, log: silentLogger, hooks, exclusive: true, ...more });
  const [begun, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  engine.define(
    define("work", (context) =>
      act(context, "hold", () => {
        begun.resolve();
        return gate.promise;
      }),
    ),
  );
  await engine.launch();
  await engine.start({ workflow: "work", args: {} });
  await begun.promise;
  /** Lets the step end, whose record is refused. */
  const refuse = async (error: AegisError) => {
    refusal = error;
    gate.resolve();
    await refused.promise;
  };
  return { engine, refuse };
}

it("does not wait for a store that is over", async () => {
  const { engine, refuse } = await working();
  await refuse(new StoreOverError("the node lost its lease"));
  await expect(engine.start({ workflow: "work", args: {} })).rejects.toThrow("lost its lease");
  await engine.stop().catch(() => {});
});

it("does not wait for a full disk any more when the daemon stops by force", async () => {
  const forced = new AbortController();
  const { engine, refuse } = await working(forced.signal);
  await refuse(new AegisError("storage_full", "the disk is full"));
  const started = engine.start({ workflow: "work", args: {} });
  forced.abort(new AegisError("unavailable", "stopped by force"));
  await expect(started).rejects.toThrow("the disk is full");
  await engine.stop().catch(() => {});
});
