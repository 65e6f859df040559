/** Files the store must not touch, and files it must not lose. */
import { copyFile, readdir, readFile, rm, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { message } from "@aegis/test/helpers/rows.ts";
import { tempDir } from "@aegis/test/helpers/temp-dir.ts";
import { addSession } from "@aegis/test/suites/store-suite.ts";
import { beforeEach, describe, expect, it } from "vitest";
import { openStore } from "../../store/test/open-store.ts";

let dir: string;
let path: string;

beforeEach(async () => {
  dir = await tempDir();
  path = join(dir, "aegis.db");
});

/** Every file of the folder with its bytes; SQLite's scratch file aside, which holds no data. */
async function snapshot(): Promise<Record<string, string>> {
  const files = (await readdir(dir)).filter((name) => !name.endsWith("-shm")).sort();
  return Object.fromEntries(
    await Promise.all(files.map(async (name) => [name, await readFile(join(dir, name), "base64")])),
  );
}

async function makeStore(bodies: string[] = ["kept"]): Promise<void> {
  const { store } = await openStore(path);
  const { id } = await addSession(store);
  for (const body of bodies) await store.transact((tx) => tx.messages.insert(message(id, { body })));
  await store.close();
}

/** Leaves the files as a killed process does: the change is in the log only. */
async function changeInLogOnly(sql: string): Promise<void> {
  const db = new DatabaseSync(path);
  db.exec(`PRAGMA wal_autocheckpoint = 0; ${sql}`);
  await copyFile(path, join(dir, "copy"));
  await copyFile(`${path}-wal`, join(dir, "copy-wal"));
  db.close();
  await copyFile(join(dir, "copy"), path);
  await copyFile(join(dir, "copy-wal"), `${path}-wal`);
  await rm(join(dir, "copy"));
  await rm(join(dir, "copy-wal"));
}

describe("a database that is not for this Aegis", () => {
  const newer = /written by a newer Aegis \(schema 99, this one knows \d+\)/;

  it("is refused untouched when it is newer", async () => {
    await makeStore();
    const db = new DatabaseSync(path);
    db.exec("PRAGMA user_version = 99");
    db.close();
    const before = await snapshot();
    await expect(openStore(path)).rejects.toMatchObject({ code: "unavailable", message: newer });
    expect(await snapshot()).toEqual(before);
    expect(await readdir(dir)).toEqual(["aegis.db"]);
  });

  it("is refused untouched when only its log says that it is newer", async () => {
    await makeStore();
    await changeInLogOnly("PRAGMA user_version = 99");
    const before = await snapshot();
    await expect(openStore(path)).rejects.toMatchObject({ code: "unavailable", message: newer });
    expect(await snapshot()).toEqual(before);
  });

  it.each([
    ["marked as its own", "PRAGMA application_id = 1234; CREATE TABLE notes (x)"],
    ["unmarked", "CREATE TABLE notes (x)"],
    ["unmarked, with many tables", Array.from({ length: 300 }, (_, n) => `CREATE TABLE t${n} (x)`).join(";")],
  ])("is refused untouched when another program made it, %s", async (_name, sql) => {
    const db = new DatabaseSync(path);
    db.exec(`BEGIN; ${sql}; COMMIT`);
    db.close();
    const before = await snapshot();
    await expect(openStore(path)).rejects.toMatchObject({ code: "unavailable", message: /another program/ });
    expect(await snapshot()).toEqual(before);
    expect(await readdir(dir)).toEqual(["aegis.db"]);
  });

  it("is refused when it is a folder", async () => {
    await expect(openStore(dir)).rejects.toMatchObject({ code: "unavailable", message: /is not a file/ });
  });
});

describe("a damaged database", () => {
  const aside = "aegis.db.corrupt-20260203T040506Z";

  async function expectSetAside(reason: RegExp): Promise<string[]> {
    const { store, said } = await openStore(path);
    expect(said).toEqual([{ level: "error", message: expect.stringMatching(reason) }]);
    expect((await store.health()).problems).toEqual([said[0]?.message]);
    expect(said[0]?.message).toContain(aside);
    expect(await store.read.sessions.list()).toEqual([]);
    await addSession(store);
    await store.close();
    return (await readdir(dir)).filter((name) => name.startsWith(aside)).sort();
  }

  it("is set aside whole when it is no database at all", async () => {
    await writeFile(path, "these are not the bytes you are looking for");
    expect(await expectSetAside(/not a database/)).toEqual([aside]);
    expect(await readFile(join(dir, aside), "utf8")).toBe("these are not the bytes you are looking for");
  });

  it("is set aside when it was cut short", async () => {
    await makeStore(["x".repeat(200_000)]);
    await truncate(path, 40_000);
    expect(await expectSetAside(/malformed|damaged/)).toContain(aside);
  });

  it("is set aside when pages inside it are broken", async () => {
    await makeStore(["x".repeat(20_000)]);
    const bytes = await readFile(path);
    bytes.fill(0xff, 4096, 3 * 4096);
    await writeFile(path, bytes);
    expect(await expectSetAside(/damaged/)).toContain(aside);
    expect((await readFile(join(dir, aside))).equals(bytes)).toBe(true);
  });

  it.each([
    ["gone", () => rm(path)],
    ["empty", () => truncate(path, 0)],
  ])("keeps its log when the file itself is %s", async (_name, lose) => {
    await makeStore();
    await changeInLogOnly("CREATE TABLE later (x)");
    const log = await readFile(`${path}-wal`);
    await lose();
    expect(await expectSetAside(/its log is not/)).toContain(`${aside}-wal`);
    expect((await readFile(join(dir, `${aside}-wal`))).equals(log)).toBe(true);
  });

  it("never replaces one that was set aside before", async () => {
    for (const text of ["first", "second"]) {
      await rm(path, { force: true });
      await writeFile(path, text);
      await (await openStore(path)).store.close();
    }
    expect(await readFile(join(dir, aside), "utf8")).toBe("first");
    expect(await readFile(join(dir, `${aside}-2`), "utf8")).toBe("second");
  });

  it("is reported when it is met while running, and found by the next start", async () => {
    await makeStore(["x".repeat(20_000)]);
    const { store, said } = await openStore(path);
    const db = new DatabaseSync(path);
    const root = db.prepare("SELECT rootpage FROM sqlite_schema WHERE name = 'messages'").get()?.rootpage;
    db.close();
    const bytes = await readFile(path);
    bytes.fill(0xff, (Number(root) - 1) * 4096, Number(root) * 4096);
    await writeFile(path, bytes);
    const [session] = await store.read.sessions.list();
    expect(session).toBeDefined();
    if (session === undefined) return;
    await expect(store.read.messages.list(session.id)).rejects.toMatchObject({ code: "unavailable" });
    await expect(store.read.messages.list(session.id)).rejects.toThrow("damaged");
    expect(said.filter(({ level }) => level === "error")).toHaveLength(1);
    expect((await store.health()).problems[0]).toContain("damaged");
    expect(await readdir(dir)).toContain("aegis.db.suspect");
    await store.close();
    const again = await openStore(path);
    expect((await again.store.health()).problems[0]).toContain("set aside");
    expect(await readdir(dir)).not.toContain("aegis.db.suspect");
  });
});

it("goes on with what a killed process left in the log", async () => {
  await makeStore();
  await changeInLogOnly("UPDATE messages SET body = 'from the log'");
  const { store, said } = await openStore(path);
  const [session] = await store.read.sessions.list();
  expect(session === undefined ? [] : await store.read.messages.list(session.id)).toMatchObject([
    { body: "from the log" },
  ]);
  expect(said).toEqual([]);
});

it("begins in a file that was made and never written, and says so", async () => {
  await writeFile(path, "");
  const { store, said } = await openStore(path);
  await addSession(store);
  expect(said).toEqual([{ level: "warn", message: expect.stringContaining("is empty") }]);
});
