/** Writes until it is killed and prints the id of each message once it was told that it is stored. */
import { writeSync } from "node:fs";
import { newId } from "@aegis/contract/ids.ts";
import { systemClock } from "@aegis/lib/clock.ts";
import { silentLogger } from "@aegis/lib/log.ts";
import { sessionRow } from "@aegis/test/helpers/rows.ts";
import { openSqliteStore } from "../src/store.ts";

const path = process.argv[2];
if (path === undefined) throw new Error("expected the path of the database");
const store = await openSqliteStore({ path, clock: systemClock, log: silentLogger });
const session = newId("ses", systemClock.now());
await store.transact((tx) => tx.sessions.insert(sessionRow({ id: session, created_at: systemClock.now() })));

async function write(): Promise<never> {
  while (true) {
    const id = newId("msg", systemClock.now());
    const at = systemClock.now();
    const body = "x".repeat(Math.floor(Math.random() * 4_000));
    await store.transact(async (tx) => {
      const row = { id, session, sender: { kind: "human" } as const, body, chain: id, hops: 0, admitted_at: at };
      const message = { ...row, sent: null, attachments: [], status: "pending" as const, turn: null };
      await tx.messages.insert(message);
      await tx.events.append({ type: "message.admitted", session, data: { message } }, at);
    });
    writeSync(1, `${id}\n`);
  }
}

await Promise.all(Array.from({ length: 8 }, write));
