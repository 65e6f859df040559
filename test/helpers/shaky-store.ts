/** A store that loses its database again and again: units are rolled back, and reads get no answer. */
import type { Store } from "@aegis/store/store.ts";
import { StoreAwayError } from "@aegis/store/transact.ts";

export type ShakyStore = Store & {
  /** How many units and reads were lost so far. */
  readonly lost: { units: number; reads: number };
  /** From now on nothing is lost. */
  steady(): void;
};

export type Shaking = {
  /** Every so many units is run and rolled back. 0: none. */
  units: number;
  /** Every so many reads fails. 0: none. */
  reads?: number;
};

export function shakyStore(store: Store, { units, reads = 0 }: Shaking): ShakyStore {
  const lost = { units: 0, reads: 0 };
  const seen = { units: 0, reads: 0 };
  let isSteady = false;
  const loses = (kind: keyof typeof lost, every: number) => {
    seen[kind] += 1;
    if (isSteady || every === 0 || seen[kind] % every !== 0) return false;
    lost[kind] += 1;
    return true;
  };
  const away = () => new StoreAwayError("the test lost its database");
  const beforeRead = async () => {
    if (loses("reads", reads)) throw away();
  };
  return {
    ...withReadHook(store, beforeRead),
    lost,
    steady: () => {
      isSteady = true;
    },
    transact: (unit) => {
      const isLost = loses("units", units);
      return store.transact(async (tx) => {
        const value = await unit(tx);
        if (isLost) throw away();
        return value;
      });
    },
  };
}

/** A store that calls a function of the test before each read. */
export function withReadHook(store: Store, beforeRead: () => Promise<void>): Store {
  const read = new Proxy(store.read, {
    get: (tables, table) =>
      new Proxy(Reflect.get(tables, table, tables) as object, {
        get: (target, method) => {
          const call = Reflect.get(target, method, target) as (...args: unknown[]) => Promise<unknown>;
          return async (...args: unknown[]) => {
            await beforeRead();
            return call.apply(target, args);
          };
        },
      }),
  });
  return {
    read,
    transact: (unit) => store.transact(unit),
    onCommit: (...listener) => store.onCommit(...listener),
    health: () => store.health(),
    close: () => store.close(),
  };
}
