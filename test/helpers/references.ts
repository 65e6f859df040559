/**
 * Refuses a transaction that names what does not exist: a reader that finds an id in a row or an event must find what
 * the id belongs to. Only whole texts count as ids; what an agent or a person wrote may contain any text. A chain has the
 * id of its first message, which a run that starts it never sends.
 */
import { type Id, type IdPrefix, isId } from "@aegis/contract/ids.ts";
import type { Store, StoreTx } from "@aegis/store/store.ts";

type Find = (tx: StoreTx, id: string) => Promise<unknown>;

function finder<P extends IdPrefix>(prefix: P, find: (tx: StoreTx, id: Id<P>) => Promise<unknown>): [P, Find] {
  return [prefix, (tx, id) => (isId(prefix, id) ? find(tx, id) : Promise.resolve(null))];
}

const finders = new Map<string, Find>([
  finder("ses", (tx, id) => tx.sessions.get(id)),
  finder("msg", (tx, id) => tx.messages.get(id)),
  finder("trn", (tx, id) => tx.turns.get(id)),
  finder("ask", (tx, id) => tx.asks.get(id)),
  finder("tsk", (tx, id) => tx.tasks.get(id)),
  finder("run", (tx, id) => tx.runs.get(id)),
  finder("fir", (tx, id) => tx.firings.get(id)),
  finder("brd", (tx, id) => tx.broadcasts.get(id)),
  finder("grp", (tx, id) => tx.groups.get(id)),
  finder("lnd", (tx, id) => tx.landings.get(id)),
  finder("rcp", (tx, id) => tx.receipts.get(id)),
]);
const reads = /^(get|list|by|find|count|has|is|of|last)/;

/** Checks each transaction at its end, before it commits. */
export function checkReferences(store: Store): Store {
  const transact: Store["transact"] = (unit) =>
    store.transact(async (tx) => {
      const named = new Map<string, string>();
      const result = await unit(recording(tx, (call, value) => note(named, call, value)));
      for (const [id, call] of named) {
        const found = await finders.get(id.slice(0, 3))?.(tx, id);
        if (found === null) throw new Error(`${call} names ${id}, which no reader finds after this transaction`);
      }
      return result;
    });
  return {
    read: store.read,
    transact,
    onCommit: (...args) => store.onCommit(...args),
    ...(store.membership === undefined ? {} : { membership: store.membership }),
    health: () => store.health(),
    close: () => store.close(),
  };
}

/** The same transaction; the arguments of its writes are noted. */
function recording(tx: StoreTx, write: (call: string, args: unknown) => void): StoreTx {
  return new Proxy(tx, {
    get: (target, name) => table(String(name), Reflect.get(target, name, target) as object, write),
  });
}

function table(name: string, target: object, write: (call: string, args: unknown) => void): object {
  return new Proxy(target, {
    get(_, method) {
      const value: unknown = Reflect.get(target, method, target);
      if (typeof value !== "function" || typeof method !== "string") return value;
      return (...args: unknown[]) => {
        if (!reads.test(method)) write(callOf(name, method, args), args);
        return Reflect.apply(value, target, args) as unknown;
      };
    },
  });
}

function callOf(table: string, method: string, [first]: unknown[]): string {
  const type = typeof first === "object" && first !== null && "type" in first ? ` of ${String(first.type)}` : "";
  return `${table}.${method}${type}`;
}

function note(named: Map<string, string>, call: string, value: unknown): void {
  if (typeof value === "string") {
    if (finders.has(value.slice(0, 3)) && isId(value.slice(0, 3) as IdPrefix, value)) named.set(value, call);
  } else if (typeof value === "object" && value !== null) {
    for (const [key, one] of Object.entries(value)) if (key !== "chain") note(named, call, one);
  }
}
