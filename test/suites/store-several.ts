/** What a store must do when several processes write to the same data. */

import type { Event } from "@aegis/contract/event.ts";
import type { Store } from "@aegis/store/store.ts";
import { describe, expect, it } from "vitest";
import { message, sessionRow } from "../helpers/rows.ts";
import { notice, type StoreUnderTest } from "./store-suite.ts";

export function severalWritersSuite(under: () => StoreUnderTest): void {
  const another = async (): Promise<Store> => {
    const open = under().another;
    if (open === undefined) throw new Error("this store is opened once only");
    return open();
  };

  /** Resolves when the store's feed has reached the number. */
  const fedUntil = (store: Store, seq: number): Promise<Event[]> =>
    new Promise((resolve) => {
      const fed: Event[] = [];
      store.onCommit((events) => {
        fed.push(...events);
        if ((fed.at(-1)?.seq ?? 0) >= seq) resolve(fed);
      });
    });

  describe("several writers", () => {
    it("see each other's commits, and each event once and in order in every feed", async () => {
      const stores = [under().store, await another(), await another()];
      const session = sessionRow();
      await under().store.transact((tx) => tx.sessions.insert(session));
      const each = 60;
      const feeds = stores.map((store) => fedUntil(store, each * stores.length));
      await Promise.all(
        stores.flatMap((store, writer) =>
          Array.from({ length: each }, (_, n) =>
            store.transact((tx) => tx.events.append(notice(session.id, `${writer}.${n}`), n)),
          ),
        ),
      );
      const stored = await under().store.read.events.list({ limit: 1_000 });
      expect(stored.map((event) => event.seq)).toEqual(Array.from({ length: each * 3 }, (_, n) => n + 1));
      for (const feed of feeds) expect(await feed).toEqual(stored);
    });

    it("never both act on what they read", async () => {
      const stores = [under().store, await another()];
      const session = sessionRow();
      await under().store.transact((tx) => tx.sessions.insert(session));
      const limit = 5;
      const admit = (store: Store) =>
        store.transact(async (tx) => {
          const pending = await tx.messages.countPending(session.id);
          if (pending < limit) await tx.messages.insert(message(session.id));
        });
      await Promise.all(Array.from({ length: 40 }, (_, n) => admit(stores[n % 2] ?? under().store)));
      expect(await under().store.read.messages.countPending(session.id)).toBe(limit);
    });

    it("have their own commits in their feed before they go on", async () => {
      const stores = [under().store, await another()];
      await Promise.all(
        stores.map(async (store) => {
          const fed = new Set<number>();
          store.onCommit((events) => {
            for (const { seq } of events) fed.add(seq);
          });
          for (let n = 0; n < 20; n++) {
            const { seq } = await store.transact((tx) => tx.events.append(notice(null, String(n)), n));
            expect(fed).toContain(seq);
          }
        }),
      );
    });
  });
}
