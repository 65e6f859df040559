/** The floor for durable writes: one insert in one transaction, in WAL mode, with an fsync for each. */
import { DatabaseSync } from "node:sqlite";

export type BareStore = { insertMany(text: string, count: number): Promise<void> } & Disposable;

export function openBareStore(path: string): BareStore {
  const database = new DatabaseSync(path);
  database.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; CREATE TABLE rows (text TEXT NOT NULL) STRICT");
  const insert = database.prepare("INSERT INTO rows (text) VALUES (?)");
  return {
    async insertMany(text, count) {
      for (let done = 0; done < count; done++) insert.run(text);
    },
    [Symbol.dispose]: () => database.close(),
  };
}
