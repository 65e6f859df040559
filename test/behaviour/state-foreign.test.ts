// @module-tag slow
/** State that came with a folder: nothing of it runs before a person has seen it and agreed. */
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { appendFile, mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { processStartTime } from "@aegis/lib/daemon-file.ts";
import { strippedFile } from "@aegis/plugins/worker/strip.ts";
import { describe, expect, it } from "vitest";
import { type AegisProject, aegisProject, offlineConfig } from "../helpers/aegis.ts";
import { done, giveState, strangersFolder, trace, victimOf } from "../helpers/projects/stranger.ts";
import { scaled } from "../helpers/slowness.ts";
import { waitUntil } from "../helpers/wait-until.ts";

type Shown = { owner: string; reason: string; digest: string; waiting: { kind: string; total: number }[] };

async function snapshot(root: string): Promise<Record<string, string>> {
  const dir = join(root, ".aegis/state");
  const names = (await readdir(dir, { recursive: true, withFileTypes: true })).filter((entry) => entry.isFile());
  const paths = names
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => !/(daemon\.log|lock\.db.*)$/.test(path));
  return Object.fromEntries(await Promise.all(paths.map(async (path) => [path, await readFile(path, "base64")])));
}

async function expectRefused(at: AegisProject, reason: string): Promise<void> {
  const { code, stdout, stderr } = await at.aegis("up");
  expect({ code, stdout }).toEqual({ code: 3, stdout: "" });
  expect(stderr).toContain("is not known to be yours");
  expect(stderr).toContain("aegis state show");
  expect(await at.json("up")).toMatchObject({ error: { code: "unavailable", details: { state: "unknown", reason } } });
  expect(await at.daemonPid()).toBeNull();
}

describe("state of another user", { timeout: scaled(90_000) }, () => {
  const stranger = strangersFolder();

  it("is refused by every command that starts a daemon, and stays as it is", async () => {
    const at = await victimOf(await stranger());
    const before = await snapshot(at.root);
    await expectRefused(at, "foreign");
    const install = ["plugin", "install", "todo-keeper", "--yes"];
    for (const command of [["run", "hello"], ["spawn"], ["ps"], ["queue", "list"], ["serve"], install]) {
      const { code, stderr } = await at.aegis(...command);
      expect({ command, code }).toEqual({ command, code: 3 });
      expect(stderr).toContain("is not known to be yours");
    }
    expect(existsSync(join(at.root, trace))).toBe(false);
    expect(await snapshot(at.root)).toEqual(before);
  });

  it("is shown with everything that waits in it, without being changed", async () => {
    const at = await victimOf(await stranger());
    const before = await snapshot(at.root);
    const shown = await at.json<Shown>("state", "show");
    expect(shown).toMatchObject({ owner: "unknown", reason: "foreign", problem: null });
    const counts = Object.fromEntries(shown.waiting.map(({ kind, total }) => [kind, total]));
    expect(counts).toMatchObject({ runs: 1, tasks: 2, schedules: 1 });
    expect(counts.messages).toBeGreaterThanOrEqual(2);
    expect(counts.sessions).toBeGreaterThanOrEqual(3);
    const { stdout } = await at.aegis("state", "show");
    for (const text of ["tdd_cycle", trace, "words that wait", "a task that waits", "yearly", shown.digest])
      expect(stdout).toContain(text);
    expect(await snapshot(at.root)).toEqual(before);
  });

  it("runs once a person has adopted it", async () => {
    const at = await victimOf(await stranger());
    const refused = await at.aegis("state", "adopt");
    expect(refused.code).toBe(1);
    expect(refused.stderr).toContain("nothing was adopted");
    await expectRefused(at, "foreign");
    const { digest } = await at.json<Shown>("state", "show");
    expect(await done(at, "state", "adopt", "--yes", "--digest", digest)).toContain("words that wait");
    await done(at, "up");
    await waitUntil("the run's command ran", () => existsSync(join(at.root, trace)), 30_000);
    const shows = (text: string, ...args: string[]) =>
      waitUntil(text, async () => (await at.aegis(...args)).stdout.includes(text));
    await shows("you said: words that wait", "history", "patient-holder");
    await shows("1 done", "queue", "status", "work");
    await shows("you said: from the schedule", "schedule", "logs", "yearly");
    await done(at, "down");
    // It is the person's own from then on.
    expect((await at.json("up")).started).toBe(true);
    expect(await at.json("state", "show")).toMatchObject({ owner: "you", adopted: true });
  });

  it("is not adopted when it changed since it was shown", async () => {
    const at = await victimOf(await stranger());
    const { digest } = await at.json<Shown>("state", "show");
    const db = new DatabaseSync(join(at.root, ".aegis/state/aegis.db"));
    db.exec("UPDATE runs SET args = '{}'");
    db.close();
    const { code, stderr } = await at.aegis("state", "adopt", "--yes", "--digest", digest);
    expect(code).toBe(1);
    expect(stderr).toContain("changed since it was shown");
    await expectRefused(at, "foreign");
  });

  it("is set aside whole, and work begins anew", async () => {
    const at = await victimOf(await stranger());
    const before = await snapshot(at.root);
    const { set_aside } = await at.json<{ set_aside: string }>("state", "set-aside");
    expect(set_aside).toMatch(/\.aegis\/state\.\d{8}T\d{6}Z$/);
    for (const [path, content] of Object.entries(before))
      expect(await readFile(path.replace(/\.aegis\/state\b/, set_aside.slice(at.root.length + 1)), "base64")).toBe(
        content,
      );
    expect(await at.json("up")).toMatchObject({
      started: true,
      sessions: { ready: 0, closed: 0 },
      pending_messages: 0,
    });
    expect(existsSync(join(at.root, trace))).toBe(false);
  });

  it.each([
    ["a trigger", "CREATE TRIGGER t AFTER INSERT ON events BEGIN DELETE FROM asks; END", /unexpected trigger "t"/],
    ["a view for a table", "DROP TABLE seen; CREATE VIEW seen AS SELECT 1", /unexpected view "seen"/],
    ["another table", "CREATE TABLE more (x)", /unexpected table "more"/],
    ["a missing index", "DROP INDEX runs_by_status", /lacks the index "runs_by_status"/],
  ])("with %s is shown as unusable and never adopted", async (_, sql, problem) => {
    const at = await victimOf(await stranger());
    const db = new DatabaseSync(join(at.root, ".aegis/state/aegis.db"));
    db.exec(sql);
    db.close();
    expect((await at.aegis("state", "show")).stdout).toMatch(problem);
    const adopted = await at.aegis("state", "adopt", "--yes");
    expect(adopted.code).toBe(3);
    expect(adopted.stderr).toMatch(problem);
    await expectRefused(at, "foreign");
  });

  it("cannot drive the terminal of the person who looks at it", async () => {
    const at = await victimOf(await stranger());
    const db = new DatabaseSync(join(at.root, ".aegis/state/aegis.db"));
    db.prepare("UPDATE messages SET body = ? WHERE status = 'pending'").run("a\u001b[2Jb\u202ec\u0007\nnext");
    db.close();
    const { stdout } = await at.aegis("state", "show");
    expect(stdout).toContain("a\\u{1b}[2Jb\\u{202e}c\\u{7}\\u{a}next");
    for (const character of ["\u001b", "\u202e", "\u0007"]) expect(stdout).not.toContain(character);
  });

  it("is refused without its marker too, as state of an older version is", async () => {
    const at = await victimOf(await stranger());
    await rm(join(at.root, ".aegis/state/owner.json"));
    await expectRefused(at, "unmarked");
    expect(existsSync(join(at.root, trace))).toBe(false);
  });

  it("does not get in as a database alone, beside a state of one's own", async () => {
    for (const crash of [false, true]) {
      const at = await aegisProject();
      const { pid } = await at.json<{ pid: number }>("up");
      if (crash) process.kill(pid, "SIGKILL");
      else await done(at, "down");
      await waitUntil("the daemon is gone", async () => (await at.daemonPid()) === null);
      const target = join(at.root, ".aegis/state/aegis.db");
      // Written into the file that is there, as cp does, so that the file stays the same one.
      await writeFile(target, await readFile(join(await stranger(), ".aegis/state/aegis.db")));
      for (const suffix of ["-wal", "-shm"]) await rm(target + suffix, { force: true });
      await expectRefused(at, crash ? "replaced" : "changed");
    }
  });

  it("does not get in as a write-ahead log beside a database of one's own", async () => {
    const at = await aegisProject();
    await done(at, "up");
    await done(at, "down");
    await appendFile(
      join(at.root, ".aegis/state/aegis.db-wal"),
      await readFile(join(await stranger(), ".aegis/state/aegis.db")),
    );
    await expectRefused(at, "changed");
  });
});

it("does not talk to an address that came with the folder", async () => {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(request.url ?? "");
    response.end("{}");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  try {
    const at = await aegisProject();
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const start_time = processStartTime(process.pid) ?? "";
    await mkdir(join(at.root, ".aegis/state"), { recursive: true });
    await writeFile(
      join(at.root, ".aegis/state/daemon.json"),
      JSON.stringify({ pid: process.pid, start_time, url, token: "t", version: "0.1.0", id: "x" }),
    );
    expect(await at.json("status")).toMatchObject({ running: false, daemon_file: "foreign" });
    expect((await at.json<{ url: string }>("up")).url).not.toBe(url);
    expect(asked).toEqual([]);
  } finally {
    server.close();
  }
});

it("does not carry out an install that came with the folder", async () => {
  const at = await aegisProject();
  await done(at, "up");
  await done(at, "down");
  const workspace = join(at.root, ".aegis/state/installs/0123456789ab");
  await mkdir(workspace, { recursive: true });
  await writeFile(join(workspace, "file-0.new"), "planted");
  const after = "3fc4ccfe745870e2c0d99f71f30ff0656c8dedd41cc1d7d3d376b0dbe685e2f3";
  const file = { path: "planted.txt", mode: 0o644, before: null, after, slot: "file-0" };
  const journal = { plugin: "p", action: "install", folders: [], files: [file], made: [], trust: "x", proof: "00" };
  await writeFile(join(workspace, "journal.json"), JSON.stringify(journal));
  await done(at, "up");
  expect(existsSync(join(at.root, "planted.txt"))).toBe(false);
  expect((await at.aegis("logs")).stdout).toContain("was not carried out");
  expect(await readFile(join(at.env.HOME ?? "", ".aegis/trust.json"), "utf8")).not.toContain("plugin:p");
});

it("does not run code that claims to be made from a trusted plugin", async () => {
  const source = 'import { workflow } from "aegis";\nexport const w = workflow("w", async (engine) => "true one");\n';
  const planted = source.replace("true one", "planted");
  const at = await aegisProject({ ".aegis.yaml": offlineConfig, ".aegis/plugins/mine.ts": source });
  await done(at, "up");
  await done(at, "down");
  const cache = join(at.root, ".aegis/state/plugin-cache");
  await mkdir(cache, { recursive: true });
  await writeFile(strippedFile(source, cache), planted);
  expect(await done(at, "workflow", "run", "w")).toContain("true one");
});

it("lets the doctor look at nothing and end nothing of an unknown state", async () => {
  const at = await aegisProject();
  await done(at, "up");
  await done(at, "down");
  await rm(join(at.root, ".aegis/state/owner.json"));
  const child = spawn("sleep", ["60"], { stdio: "ignore" });
  try {
    const entry = { pid: child.pid, start: processStartTime(child.pid ?? 0), command: "sleep 60" };
    await writeFile(join(at.root, ".aegis/state/processes.jsonl"), `${JSON.stringify(entry)}\n`);
    const { checks } = await at.json<{ checks: { check: string; level: string; detail: string }[] }>("doctor", "--fix");
    const of = (name: string) => checks.find(({ check }) => check === name);
    expect(of("state")).toMatchObject({ level: "fail", detail: expect.stringContaining("not known to be yours") });
    for (const name of ["store", "processes"]) expect(of(name)?.detail).toContain("not checked");
    expect(child.exitCode ?? child.signalCode).toBeNull();
  } finally {
    child.kill();
  }
});

it("refuses state that another user's key signed, with nothing waiting in it", async () => {
  const at = await aegisProject();
  await done(at, "up");
  await done(at, "down");
  const other = await aegisProject();
  await giveState(at.root, other.root);
  await expectRefused(other, "foreign");
});
