/** A disk that is full, and a folder that may not be written. */
import { execFileSync } from "node:child_process";
import { chmod, chown, mkdir, readdir, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { newId } from "@aegis/contract/ids.ts";
import type { Store } from "@aegis/store/store.ts";
import { message } from "@aegis/test/helpers/rows.ts";
import { tempDir } from "@aegis/test/helpers/temp-dir.ts";
import { addSession, notice } from "@aegis/test/suites/store-suite.ts";
import { describe, expect, it, onTestFinished, type TestContext } from "vitest";
import { openStore } from "../../store/test/open-store.ts";

const nobody = 65_534;

/** A real small disk. Only root can make one: the test is skipped for others, which its report shows. */
async function smallDisk(context: TestContext): Promise<string> {
  const dir = join(await tempDir(), "disk");
  await mkdir(dir);
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=2m", "tmpfs", dir], { stdio: "pipe" });
  } catch {
    context.skip("a small disk needs the right to mount one");
  }
  onTestFinished(() => void execFileSync("umount", ["-l", dir]));
  return dir;
}

async function fill(dir: string): Promise<() => Promise<void>> {
  const filler = join(dir, "filler");
  const block = Buffer.alloc(4096);
  try {
    while (true) await writeFile(filler, block, { flag: "a" });
  } catch (error) {
    expect(error).toMatchObject({ code: "ENOSPC" });
  }
  return () => rm(filler);
}

async function admit(store: Store, session: ReturnType<typeof newId<"ses">>, count: number): Promise<string[]> {
  const results = await Promise.allSettled(
    Array.from({ length: count }, () => {
      const row = message(session, { body: "x".repeat(10_000) });
      return store.transact(async (tx) => {
        await tx.messages.insert(row);
        await tx.events.append(notice(session, row.id), 1);
        return row.id;
      });
    }),
  );
  for (const result of results)
    if (result.status === "rejected") expect(result.reason).toMatchObject({ code: "storage_full" });
  return results.flatMap((result) => (result.status === "fulfilled" ? [result.value] : []));
}

async function stored(store: Store, session: ReturnType<typeof newId<"ses">>): Promise<string[][]> {
  const messages = (await store.read.messages.list(session)).map((row) => row.id);
  const events = await store.read.events.list({ session, limit: 10_000 });
  return [messages, events.flatMap((event) => (event.type === "session.notice" ? [event.data.text] : []))];
}

describe("a full disk", () => {
  it("refuses what does not fit, keeps what was accepted, and goes on when there is room", async (context) => {
    const dir = await smallDisk(context);
    const path = join(dir, "aegis.db");
    const { store } = await openStore(path);
    const { id } = await addSession(store);
    const fed: string[] = [];
    store.onCommit((events) => {
      for (const event of events) if (event.type === "session.notice") fed.push(event.data.text);
    });

    const accepted = await admit(store, id, 20);
    expect(accepted).toHaveLength(20);
    const makeRoom = await fill(dir);
    let refused = 0;
    while (refused === 0) {
      const more = await admit(store, id, 20);
      refused = 20 - more.length;
      accepted.push(...more);
    }
    expect(await stored(store, id)).toEqual([accepted, accepted]);
    const sick = await store.health();
    expect(sick).toMatchObject({ writable: false, problems: [expect.stringContaining("is full")] });

    await makeRoom();
    expect(await store.health()).toMatchObject({ writable: true, problems: [] });
    const after = await admit(store, id, 20);
    expect(after).toHaveLength(20);
    accepted.push(...after);
    expect(await stored(store, id)).toEqual([accepted, accepted]);
    expect(fed).toEqual(accepted);
    await store.close();

    const again = await openStore(path);
    expect(await stored(again.store, id)).toEqual([accepted, accepted]);
    expect(again.said).toEqual([]);
  });

  it("keeps an existing database from being opened, not from being opened later", async (context) => {
    const dir = await smallDisk(context);
    const path = join(dir, "aegis.db");
    const first = await openStore(path);
    const row = await addSession(first.store);
    await first.store.close();
    const makeRoom = await fill(dir);
    await expect(openStore(path)).rejects.toMatchObject({ code: "storage_full" });
    await expect(openStore(join(dir, "new.db"))).rejects.toMatchObject({ code: "storage_full" });
    await makeRoom();
    expect(await (await openStore(path)).store.read.sessions.list()).toEqual([row]);
    expect((await readdir(dir)).filter((name) => name.includes("corrupt"))).toEqual([]);
  });
});

describe("a place that may not be written", () => {
  async function asNobody<T>(work: () => Promise<T>): Promise<T> {
    const isRoot = process.geteuid?.() === 0;
    if (isRoot) process.seteuid?.(nobody);
    try {
      return await work();
    } finally {
      if (isRoot) process.seteuid?.(0);
    }
  }

  it("is named in the error, for a new database and for one that exists", async () => {
    const path = join(await tempDir(), "state", "aegis.db");
    const { store } = await openStore(path);
    const row = await addSession(store);
    await store.close();
    const dir = dirname(path);
    await chmod(dirname(dir), 0o755);
    await chmod(dir, 0o555);
    await chmod(path, 0o444);
    if (process.geteuid?.() === 0) await chown(path, nobody, nobody);
    const refusal = { code: "unavailable", message: expect.stringContaining(path) };
    await expect(asNobody(() => openStore(path))).rejects.toMatchObject(refusal);
    const fresh = join(dir, "fresh.db");
    await expect(asNobody(() => openStore(fresh))).rejects.toMatchObject({
      code: "unavailable",
      message: expect.stringContaining(fresh),
    });
    expect(await readdir(dir)).toEqual(["aegis.db"]);
    await chmod(dir, 0o755);
    await chmod(path, 0o644);
    expect(await (await openStore(path)).store.read.sessions.list()).toEqual([row]);
  });

  it("may be a disk mounted read-only", async (context) => {
    const dir = await smallDisk(context);
    const path = join(dir, "aegis.db");
    const { store } = await openStore(path);
    await addSession(store);
    await store.close();
    execFileSync("mount", ["-o", "remount,ro", dir]);
    await expect(openStore(path)).rejects.toMatchObject({ code: "unavailable", message: /cannot write/ });
    execFileSync("mount", ["-o", "remount,rw", dir]);
    expect(await (await openStore(path)).store.read.sessions.list()).toHaveLength(1);
  });
});
