import { readdir, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { systemClock } from "@aegis/lib/clock.ts";
import { silentLogger } from "@aegis/lib/log.ts";
import { tempDir } from "@aegis/test/helpers/temp-dir.ts";
import { describe, expect, it } from "vitest";
import { readIdentity, writeIdentity } from "../src/identity.ts";
import { openSqliteStore } from "../src/store.ts";
import { readContents } from "../src/waiting.ts";

const quiet = { clock: systemClock, log: silentLogger };

describe("the id of a database", () => {
  it("is in a new database before that gets its name, whatever an earlier start left", async () => {
    const dir = await tempDir();
    const path = join(dir, "aegis.db");
    for (const suffix of ["", "-wal", "-journal"]) await writeFile(`${path}.new${suffix}`, "left behind");
    let seen: string[] = [];
    const begun = async (file: string) => {
      expect(readIdentity(file)).toBe("one");
      seen = await readdir(dir);
    };
    const store = await openSqliteStore({ path, ...quiet, owner: { id: "one", begun } });
    expect(seen).not.toContain("aegis.db");
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    await store.close();
    expect(await readdir(dir)).toEqual(["aegis.db"]);
    expect(readIdentity(path)).toBe("one");
    writeIdentity(path, "two");
    expect(readIdentity(path)).toBe("two");
  });

  it("is given to the database that replaces a damaged one", async () => {
    const path = join(await tempDir(), "aegis.db");
    await writeFile(path, "no database ".repeat(1_000));
    const files: string[] = [];
    const begun = async (file: string) => void files.push(file);
    const store = await openSqliteStore({ path, ...quiet, owner: { id: "one", begun } });
    await store.close();
    expect(files).toEqual([`${path}.new`]);
    expect(readIdentity(path)).toBe("one");
  });

  it("is null for a database without one, and for what is none", async () => {
    const path = join(await tempDir(), "aegis.db");
    await (await openSqliteStore({ path, ...quiet })).close();
    expect(readIdentity(path)).toBeNull();
    const other = join(await tempDir(), "aegis.db");
    await writeFile(other, "no database ".repeat(1_000));
    expect(readIdentity(other)).toBeNull();
  });
});

describe("what waits in a database", () => {
  it("is listed up to a limit, with long texts cut where one can see it", async () => {
    const path = join(await tempDir(), "aegis.db");
    await (await openSqliteStore({ path, ...quiet })).close();
    const db = new DatabaseSync(path);
    const insert = db.prepare(
      "INSERT INTO tasks (id, queue, status, callback, hops, attempts, failures, enqueued_at, payload) VALUES (?, 'q', 'pending', 0, 0, 0, 0, 0, ?)",
    );
    for (let index = 0; index < 5; index++) insert.run(`tsk_${index}`, "x".repeat(10_000));
    db.close();
    const { problem, waiting } = readContents(path, 2);
    expect(problem).toBeNull();
    const tasks = waiting.find(({ kind }) => kind === "tasks");
    expect(tasks).toMatchObject({ total: 5, items: [{ id: "tsk_0", title: "q (pending)" }, { id: "tsk_1" }] });
    expect(tasks?.items[0]?.text).toBe(`${"x".repeat(4_000)}… [cut]`);
  });

  it("is not read from a damaged or a foreign database", async () => {
    const path = join(await tempDir(), "aegis.db");
    await writeFile(path, "no database ".repeat(1_000));
    expect(readContents(path, 2)).toMatchObject({ problem: expect.stringContaining("damaged"), waiting: [] });
    const other = join(await tempDir(), "other.db");
    const db = new DatabaseSync(other);
    db.exec("CREATE TABLE runs (id)");
    db.close();
    expect(readContents(other, 2)).toEqual({ problem: "it is a database of another program", waiting: [] });
  });
});
