import { appendFile, readdir, readFile, rm, stat, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Event } from "@aegis/contract/event.ts";
import { newId, type SessionId } from "@aegis/contract/ids.ts";
import { systemClock } from "@aegis/lib/clock.ts";
import { readJsonl } from "@aegis/lib/jsonl.ts";
import { type Logger, silentLogger } from "@aegis/lib/log.ts";
import { createRedactor } from "@aegis/lib/redact.ts";
import type { Store } from "@aegis/store/store.ts";
import { openSqliteStore } from "@aegis/store-sqlite/store.ts";
import { tempDir } from "@aegis/test/helpers/temp-dir.ts";
import { waitUntil } from "@aegis/test/helpers/wait-until.ts";
import { addSession, notice } from "@aegis/test/suites/store-suite.ts";
import { expect, it, onTestFinished } from "vitest";
import { createMirror, type Mirror } from "../src/mirror.ts";

type Setup = { store: Store; dir: string; open(log?: Logger): Promise<Mirror>; file(session: SessionId): string };

async function setUp(): Promise<Setup> {
  const root = await tempDir();
  const store = await openSqliteStore({ path: join(root, "aegis.db"), clock: systemClock, log: silentLogger });
  onTestFinished(() => store.close());
  const dir = join(root, "sessions");
  return {
    store,
    dir,
    open: async (log = silentLogger) => {
      const mirror = await createMirror({ store, dir, redact: createRedactor(["hunter2-secret"]), log });
      onTestFinished(() => mirror.close());
      return mirror;
    },
    file: (session) => join(dir, `${session}.jsonl`),
  };
}

async function say(store: Store, session: SessionId | null, ...texts: string[]): Promise<void> {
  await store.transact(async (tx) => {
    for (const text of texts) await tx.events.append(notice(session, text), 1);
  });
}

async function texts(path: string): Promise<unknown[]> {
  const events = (await readJsonl(path)) as Event[];
  return events.map((event) => (event.type === "session.notice" ? event.data.text : event.type));
}

function counting(): Logger & { said: string[] } {
  const said: string[] = [];
  const note = (level: string) => (message: string) => void said.push(`${level}: ${message}`);
  return { said, debug: note("debug"), info: note("info"), warn: note("warn"), error: note("error") };
}

it("writes each session's events as they are committed, one per line, as the store has them", async () => {
  const { store, open, file } = await setUp();
  const [a, b] = [await addSession(store), await addSession(store)];
  const mirror = await open();
  await say(store, a.id, "one", "line\u2028separator\nand newline");
  await Promise.all([say(store, b.id, "two"), say(store, a.id, "three"), say(store, null, "daemon only")]);
  await mirror.close();
  expect(await texts(file(a.id))).toEqual(["one", "line\u2028separator\nand newline", "three"]);
  expect(await texts(file(b.id))).toEqual(["two"]);
  expect(await readJsonl(file(a.id))).toEqual(await store.read.events.list({ session: a.id, limit: 10 }));
  expect((await stat(file(a.id))).mode & 0o777).toBe(0o600);
});

it("leaves out what a driver keeps for itself, and known secrets, also ones that look like escapes", async () => {
  const { store, dir, file } = await setUp();
  const { id } = await addSession(store);
  const mirror = await createMirror({
    store,
    dir,
    redact: createRedactor(["hunter2-secret", "nineteen-n"]),
    log: silentLogger,
  });
  const turn = newId("trn", 1);
  await say(store, id, "the key is hunter2-secret.", "\nineteen-n", 'quote" nineteen-n');
  await store.transact((tx) =>
    tx.events.append({ type: "turn.memory", session: id, data: { turn, value: "private" } }, 1),
  );
  await say(store, id, "after");
  await mirror.close();
  expect(await texts(file(id))).toEqual(["the key is [redacted].", "\nineteen-n", 'quote" [redacted]', "after"]);
});

it("catches up at start with what was committed while no mirror ran, without repeating anything", async () => {
  const { store, open, file } = await setUp();
  const { id } = await addSession(store);
  await say(store, id, "before");
  await (await open()).close();
  await say(store, id, ...Array.from({ length: 250 }, (_, n) => String(n)));
  await (await open()).close();
  await (await open()).close();
  expect(await texts(file(id))).toEqual(["before", ...Array.from({ length: 250 }, (_, n) => String(n))]);
});

it.each([
  ["a torn line", (path: string) => appendFile(path, '{"seq":3,"at":1,"ty')],
  ["a line that lacks only its end", (path: string) => appendFile(path, '{"seq":3,"at":1}')],
  ["bytes of a power cut", (path: string) => appendFile(path, `${"\0".repeat(100)}\n${"\0".repeat(100)}`)],
  ["a cut inside a long line", async (path: string) => truncate(path, (await stat(path)).size - 100_000)],
  ["nothing left", (path: string) => truncate(path, 0)],
])("repairs a file that ends with %s", async (_name, damage) => {
  const { store, open, file } = await setUp();
  const { id } = await addSession(store);
  const long = "é".repeat(400_000);
  await say(store, id, "first", long);
  await (await open()).close();
  await damage(file(id));
  await say(store, id, "next");
  await (await open()).close();
  expect(await texts(file(id))).toEqual(["first", long, "next"]);
  expect((await readFile(file(id), "utf8")).endsWith("}\n")).toBe(true);
});

it("says once that it cannot write, never harms a commit, and catches up when it can", async () => {
  const { store, dir, open, file } = await setUp();
  const { id } = await addSession(store);
  const log = counting();
  await writeFile(dir, "a file where the folder should be");
  const mirror = await open(log);
  await say(store, id, "one");
  await waitUntil("the failure is logged", () => log.said.length > 0);
  await say(store, id, "two");
  await say(store, id, "three");
  expect(await store.read.events.lastSeq()).toBe(3);
  await rm(dir);
  await mirror.close();
  expect(await texts(file(id))).toEqual(["one", "two", "three"]);
  expect(log.said).toEqual([
    expect.stringMatching(/^warn: transcripts cannot be written/),
    "info: the transcripts are complete again",
  ]);
});

it.each([
  ["folder", (dir: string) => rm(dir, { recursive: true })],
  ["file", async (_dir: string, file: string) => rm(file)],
])("begins a transcript again at once when its %s is deleted while it runs", async (_name, lose) => {
  const { store, dir, open, file } = await setUp();
  const { id } = await addSession(store);
  const log = counting();
  await open(log);
  const written = async () => texts(file(id)).catch(() => []);
  await say(store, id, "one");
  await waitUntil("the first line is written", async () => (await written()).length === 1);
  await lose(dir, file(id));
  await say(store, id, "two");
  await waitUntil("both lines are written", async () => (await written()).length === 2);
  expect(await written()).toEqual(["one", "two"]);
  expect(log.said).toEqual([]);
});

it("does not read the log once for each commit while commits never stop", async () => {
  const { store, dir, file } = await setUp();
  const [a, b] = [await addSession(store), await addSession(store)];
  let reads = 0;
  const events = {
    lastSeq: () => store.read.events.lastSeq(),
    list: (...query: Parameters<Store["read"]["events"]["list"]>) => {
      reads += 1;
      return store.read.events.list(...query);
    },
  };
  const counted = { onCommit: store.onCommit.bind(store), read: { events, sessions: store.read.sessions } };
  const mirror = await createMirror({ store: counted, dir, redact: (text) => text, log: silentLogger });
  await say(store, a.id, "first");
  await waitUntil("the mirror has begun", () => reads > 0);
  const before = { reads, at: performance.now() };
  for (let index = 0; index < 200; index++) await say(store, index % 2 === 0 ? a.id : b.id, `${index}`);
  const runs = Math.ceil((performance.now() - before.at) / 25) + 1;
  // One read of each file.
  expect(reads - before.reads).toBeLessThanOrEqual(2 * runs);
  await mirror.close();
  expect([...(await texts(file(a.id))), ...(await texts(file(b.id)))]).toHaveLength(201);
});

it("writes nothing after it was closed", async () => {
  const { store, open, file } = await setUp();
  const { id } = await addSession(store);
  const mirror = await open();
  await say(store, id, "one");
  await mirror.close();
  await say(store, id, "two");
  await mirror.close();
  expect(await texts(file(id))).toEqual(["one"]);
});

it.skipIf(process.platform !== "linux")("keeps no files open, however many sessions there are", async () => {
  const { store, dir, open } = await setUp();
  const sessions = await Promise.all(Array.from({ length: 500 }, () => addSession(store)));
  const openFiles = async () => (await readdir("/proc/self/fd")).length;
  const before = await openFiles();
  const mirror = await open();
  await Promise.all(sessions.map(({ id }) => say(store, id, "hello")));
  let most = 0;
  let closed = false;
  const closing = mirror.close().then(() => {
    closed = true;
  });
  while (!closed) most = Math.max(most, await openFiles());
  await closing;
  expect((await readdir(dir)).length).toBe(500);
  expect(most - before).toBeLessThan(20);
});
