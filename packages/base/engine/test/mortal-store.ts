/** A store that dies after so many commits, as a power cut would: what it was asked afterwards is never answered. */
import type { Store } from "@aegis/store/store.ts";

export type MortalStore = Store & {
  /** Commits so far. */
  readonly commits: number;
  readonly died: Promise<void>;
  die(): void;
};

export function mortalStore(store: Store, lives = Number.POSITIVE_INFINITY): MortalStore {
  let commits = 0;
  let isDead = false;
  const died = Promise.withResolvers<void>();
  const die = () => {
    isDead = true;
    died.resolve();
  };
  const unlessDead = async <T>(work: () => Promise<T>): Promise<T> => {
    if (isDead) return new Promise<T>(() => {});
    const value = await work();
    return isDead ? new Promise<T>(() => {}) : value;
  };
  const mortal = <T extends object>(reads: T): T =>
    new Proxy(reads, {
      get: (target, method) => {
        const call = Reflect.get(target, method, target) as (...args: unknown[]) => Promise<unknown>;
        return (...args: unknown[]) => unlessDead(() => call.apply(target, args));
      },
    });
  const read = new Proxy(store.read, {
    get: (target, table) => mortal(Reflect.get(target, table, target)),
  });
  return {
    read,
    get commits() {
      return commits;
    },
    died: died.promise,
    die,
    transact: (unit) =>
      unlessDead(async () => {
        const value = await store
          .transact(async (tx) => {
            // The next unit of the same batch must not be written by a store that is dead by then.
            if (commits >= lives) throw new Error("the store is dead");
            const done = await unit(tx);
            commits += 1;
            return done;
          })
          .catch((error: unknown) => {
            if (commits < lives) throw error;
            die();
            return new Promise<never>(() => {});
          });
        if (commits >= lives) die();
        return value;
      }),
    onCommit: (listener, ...more) =>
      store.onCommit(
        (events) => {
          if (!isDead) listener(events);
        },
        ...more,
      ),
    health: () => store.health(),
    close: () => store.close(),
  };
}
