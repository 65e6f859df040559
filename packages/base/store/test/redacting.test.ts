/** What a store keeps of secrets, and until when. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { newId } from "@aegis/contract/ids.ts";
import type { MessageStatus } from "@aegis/contract/message.ts";
import { createRedactor } from "@aegis/lib/redact.ts";
import { message, sessionRow, task } from "@aegis/test/helpers/rows.ts";
import { tempDir } from "@aegis/test/helpers/temp-dir.ts";
import { expect, it } from "vitest";
import { redactingStore } from "../src/redacting.ts";
import { openStore } from "./open-store.ts";

const secret = "hunter2-secret";

async function open() {
  const { store } = await openStore(join(await tempDir(), "aegis.db"));
  const redacting = redactingStore(store, createRedactor([secret]));
  const session = sessionRow({ title: `about ${secret}` });
  await redacting.transact((tx) => tx.sessions.insert(session));
  return { store: redacting, session };
}

it.each<[MessageStatus, boolean]>([
  ["pending", true],
  ["dispatched", true],
  ["done", false],
  ["cancelled", false],
  ["lost", false],
  ["refused", false],
])("a message that is %s keeps its secret: %s", async (status, keeps) => {
  const { store, session } = await open();
  const row = message(session.id, { body: `use ${secret}` });
  await store.transact((tx) => tx.messages.insert(row));
  await store.transact((tx) => tx.messages.setStatus([row.id], status, newId("trn", 1)));
  expect((await store.read.messages.get(row.id))?.body).toBe(keeps ? `use ${secret}` : "use [redacted]");
});

it("a message that hooks changed loses the secret in both of its texts when it is over", async () => {
  const { store, session } = await open();
  const row = message(session.id, { body: `send ${secret}`, sent: `use ${secret}`, status: "dispatched" });
  await store.transact((tx) => tx.messages.insert(row));
  await store.transact((tx) => tx.messages.setStatus([row.id], "done", newId("trn", 1)));
  expect(await store.read.messages.get(row.id)).toMatchObject({ body: "send [redacted]", sent: "use [redacted]" });
});

it("a task keeps the secret of its payload while it may be tried again", async () => {
  const { store } = await open();
  const row = task({ payload: `use ${secret}` });
  const payload = async () => (await store.read.tasks.get(row.id))?.payload;
  await store.transact((tx) => tx.tasks.insert(row));
  await store.transact((tx) => tx.tasks.update(row.id, { status: "failed", error: `no ${secret}` }));
  expect(await payload()).toBe(`use ${secret}`);
  expect((await store.read.tasks.get(row.id))?.error).toBe("no [redacted]");
  await store.transact((tx) => tx.tasks.update(row.id, { status: "completed", result: `had ${secret}` }));
  expect(await store.read.tasks.get(row.id)).toMatchObject({ payload: "use [redacted]", result: "had [redacted]" });
});

it("a task that is cancelled loses the secret of its payload", async () => {
  const { store } = await open();
  const row = task({ payload: `use ${secret}` });
  await store.transact((tx) => tx.tasks.insert(row));
  await store.transact((tx) => tx.tasks.update(row.id, { status: "cancelled" }));
  expect((await store.read.tasks.get(row.id))?.payload).toBe("use [redacted]");
});

it("a message that was redacted leaves none of its text in the database's free pages", async () => {
  const path = join(await tempDir(), "aegis.db");
  const { store } = await openStore(path);
  const redacting = redactingStore(store, createRedactor([secret]));
  const session = sessionRow();
  // Longer than a page, so that the old text lies in pages that the shorter one gives back.
  const row = message(session.id, { body: `${secret} `.repeat(2_000) });
  await redacting.transact(async (tx) => {
    await tx.sessions.insert(session);
    await tx.messages.insert(row);
  });
  await redacting.transact((tx) => tx.messages.setStatus([row.id], "done", newId("trn", 1)));
  await redacting.close();
  expect((await readFile(path)).includes(secret)).toBe(false);
});

it("a title never has a secret, and a change leaves what it does not name", async () => {
  const { store, session } = await open();
  const read = () => store.read.sessions.get(session.id);
  expect((await read())?.title).toBe("about [redacted]");
  await store.transact((tx) => tx.sessions.update(session.id, { state: "working" }));
  expect(await read()).toMatchObject({ title: "about [redacted]", state: "working" });
  await store.transact((tx) => tx.sessions.update(session.id, { title: `now ${secret}`, error: null }));
  expect(await read()).toMatchObject({ title: "now [redacted]", error: null });
});
