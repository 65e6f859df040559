import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { access, chmod, mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, it, onTestFinished } from "vitest";
import { daemonFilePath, processStartTime, stateDir, writeDaemonFile } from "../../src/lib/daemon-file.ts";
import { isRunning } from "../helpers/pids.ts";
import { type Daemon, type Project, testProject } from "../helpers/project.ts";
import { waitUntil } from "../helpers/wait-until.ts";
import { answerTo, createSession, endings, eventsOf, hasSaid, openAsk, say, talk } from "./talk.ts";

const cleanExit = { code: 0, signal: null, stderr: "" };

function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}

/** A daemon with a turn that waits at the gate `one`. */
async function inTurn(project: Project) {
  const daemon = await project.start();
  const session = await createSession(daemon.client);
  const receipt = await say(daemon.client, session.id, "hold one");
  await hasSaid(daemon.client, session.id, "holding one");
  return { daemon, session, receipt };
}

async function isDraining(daemon: Daemon): Promise<void> {
  await waitUntil("it drains", async () => (await daemon.client.call("status")).state === "stopping");
}

describe("one daemon per project", () => {
  it("a second one refuses, names the first and leaves it alone", async () => {
    const project = await testProject();
    const first = await project.start();
    const exit = await project.launch().exited;
    expect(exit.code).toBe(4);
    expect(exit.stderr).toContain(`a daemon already runs for this project (pid ${first.pid}, ${first.file.url})`);
    expect(exit.stderr).toContain("aegis down");
    expect((await first.client.call("status")).pid).toBe(first.pid);
    expect(JSON.parse(await readFile(daemonFilePath(project.dir), "utf8"))).toEqual(first.file);
  });

  it("of several that start at once, exactly one comes up", async () => {
    const project = await testProject();
    const racers = Array.from({ length: 4 }, () => project.launch());
    const exits: (number | null)[] = [];
    for (const racer of racers) void racer.exited.then(({ code }) => exits.push(code));
    await waitUntil("all but one have ended", () => exits.length === 3);
    expect(exits).toEqual([4, 4, 4]);
    await waitUntil("one is up", () => exists(daemonFilePath(project.dir)));
    const winner = JSON.parse(await readFile(daemonFilePath(project.dir), "utf8")) as { pid: number };
    expect(racers.map((racer) => racer.pid)).toContain(winner.pid);
  });

  it("a file left behind that names a living process of somebody else does not keep it from starting", async () => {
    const project = await testProject();
    const foreign = { pid: process.pid, start_time: processStartTime(process.pid) ?? "" };
    await writeDaemonFile(project.dir, { ...foreign, url: "http://127.0.0.1:1", token: "t", version: "0", id: "x" });
    const daemon = await project.start();
    expect((await daemon.client.call("status")).pid).toBe(daemon.pid);
    expect(isRunning(process.pid)).toBe(true);
  });

  it("a torn daemon.json does not keep it from starting", async () => {
    const project = await testProject();
    await project.write(".aegis/state/daemon.json", '{"pid": 12');
    const daemon = await project.start();
    expect((await daemon.client.call("health")).ok).toBe(true);
  });
});

describe("stopping", () => {
  it("SIGTERM lets the turn under way finish and starts no other", async () => {
    const project = await testProject();
    const { daemon, session, receipt } = await inTurn(project);
    const queued = await say(daemon.client, session.id, "queued");
    daemon.signal("SIGTERM");
    await isDraining(daemon);
    await project.open("one");
    expect(await daemon.exited).toEqual(cleanExit);
    expect(await exists(daemonFilePath(project.dir))).toBe(false);

    const { client } = await project.start();
    expect(await answerTo(client, receipt)).toBe("released one");
    expect(await answerTo(client, queued)).toBe("you said: queued");
    expect(await endings(client, session.id)).toEqual(["completed", "completed"]);
    expect((await eventsOf(client, "daemon.stopping")).map((event) => event.data.reason)).toEqual(["SIGTERM"]);
  });

  it("a second SIGTERM does not wait, and the next start takes the turn up", async () => {
    const project = await testProject();
    const { daemon, session, receipt } = await inTurn(project);
    daemon.signal("SIGTERM");
    await isDraining(daemon);
    daemon.signal("SIGTERM");
    expect(await daemon.exited).toEqual(cleanExit);
    await project.open("one");

    const { client } = await project.start();
    expect(await answerTo(client, receipt)).toBe("released one");
    expect(await endings(client, session.id)).toEqual(["lost", "completed"]);
  });

  it("past the deadline it stops by itself, and an ask stays open for the next start", async () => {
    const project = await testProject();
    const daemon = await project.start();
    const session = await createSession(daemon.client);
    const receipt = await say(daemon.client, session.id, "may you deploy");
    const ask = await openAsk(daemon.client);
    daemon.signal("SIGINT");
    expect(await daemon.exited).toEqual(cleanExit);

    const { client } = await project.start();
    expect(await openAsk(client)).toEqual(ask);
    await client.call("answerAsk", { path: { ask: ask.id }, body: { choice: "deny", text: "not today" } });
    expect(await answerTo(client, receipt)).toBe("denied: deploy");
  });

  it("`shutdown` stops an idle daemon, with `force` also a busy one", async () => {
    const project = await testProject();
    const idle = await project.start();
    expect(await idle.client.call("shutdown", { body: {} })).toEqual({ stopping: true });
    expect(await idle.exited).toEqual(cleanExit);

    const { daemon, receipt } = await inTurn(project);
    await daemon.client.call("shutdown", { body: { force: true } });
    expect(await daemon.exited).toEqual(cleanExit);
    await project.open("one");
    const { client } = await project.start();
    expect(await answerTo(client, receipt)).toBe("released one");
  });

  it("an open event stream does not hold it up", async () => {
    const project = await testProject();
    const daemon = await project.start();
    const stream = await daemon.client.open("streamEvents");
    const text = stream.text();
    daemon.signal("SIGTERM");
    expect(await daemon.exited).toEqual(cleanExit);
    expect(await text).toContain('"type":"daemon.stopping"');
  });
});

describe("a project that goes away", () => {
  it("deleted: the daemon ends and does not bring the folder back", async () => {
    const project = await testProject();
    const { daemon, session } = await inTurn(project);
    await rm(project.dir, { recursive: true, force: true });
    // Whatever still happens there is written nowhere.
    const late = await createSession(daemon.client, { prompt: "too late" });
    await waitUntil("the late turn ended", async () => (await endings(daemon.client, late.id))[0] !== "under way");
    await daemon.client.call("updateSession", { path: { session: session.id }, body: { title: "too late as well" } });
    expect(await daemon.exited).toMatchObject({ code: 0, signal: null });
    expect(await exists(project.dir)).toBe(false);
  });

  it("replaced at once by another: the daemon ends and leaves the new one alone", async () => {
    const project = await testProject();
    const daemon = await project.start();
    await rename(project.dir, `${project.dir}-moved`);
    await mkdir(stateDir(project.dir), { recursive: true });
    await writeFile(join(project.dir, "file"), "of the new project");
    expect(await daemon.exited).toMatchObject({ code: 0, signal: null });
    expect(await readdir(stateDir(project.dir))).toEqual([]);
  });
});

describe("what keeps it from starting", () => {
  it("a port that is taken", async () => {
    const project = await testProject();
    const other = createServer();
    other.listen(0, "127.0.0.1");
    await once(other, "listening");
    onTestFinished(() => void other.close());
    const { port } = other.address() as AddressInfo;
    const exit = await project.launch({ args: ["--port", String(port)] }).exited;
    // Another exit code than for a project that has a daemon already: there is none to use.
    expect(exit.code).toBe(1);
    expect(exit.stderr).toContain(`port ${port} of 127.0.0.1 is taken by another program`);
    expect(exit.stderr).not.toContain("    at ");
    expect(await exists(daemonFilePath(project.dir))).toBe(false);
  });

  it.each([
    ["an address of other machines", ["--bind", "0.0.0.0"], "0.0.0.0 can be reached from other machines"],
    ["a port that is none", ["--port", "many"], "many"],
    ["an agent that is none", ["--agent", "ghost"], 'no agent "ghost"'],
    ["an option that is none", ["--prot", "1"], "--prot"],
    ["a folder that is none", ["--project", "/nowhere/at/all"], "/nowhere/at/all"],
  ])("%s", async (_, args, words) => {
    const project = await testProject();
    const exit = await project.launch({ args }).exited;
    expect(exit.code).toBe(2);
    expect(exit.stderr).toContain(words);
    expect(exit.stderr).not.toContain("    at ");
    expect(await exists(daemonFilePath(project.dir))).toBe(false);
  });

  it.skipIf(process.getuid?.() !== 0)("a folder that must not be written (needs root to try)", async () => {
    const project = await testProject();
    const nobody = 65_534;
    const through = ["/usr/bin/setpriv", `--reuid=${nobody}`, `--regid=${nobody}`, "--clear-groups"];
    await chmod(project.dir, 0o755);
    const exit = await project.launch({ through }).exited;
    expect(exit.code).toBe(1);
    expect(exit.stderr).toMatch(/cannot write .*\.aegis.*permission denied/i);
    expect(exit.stderr).not.toContain("    at ");

    const home = join(project.dir, "..", "home");
    execFileSync("chown", ["-R", `${nobody}:${nobody}`, project.dir, home]);
    const daemon = await project.start({ through });
    const session = await createSession(daemon.client);
    expect(await talk(daemon.client, session.id, "now it works")).toBe("you said: now it works");
  });

  it("a database of a newer Aegis, which stays as it is", async () => {
    const project = await testProject();
    const path = join(stateDir(project.dir), "aegis.db");
    const daemon = await project.start();
    daemon.signal("SIGTERM");
    await daemon.exited;
    const newer = new DatabaseSync(path);
    newer.exec("PRAGMA user_version = 999");
    newer.close();
    const before = await readFile(path);
    const exit = await project.launch().exited;
    expect(exit.code).toBe(1);
    expect(exit.stderr).toMatch(/newer/);
    expect(exit.stderr).not.toContain("    at ");
    expect((await readFile(path)).equals(before)).toBe(true);
  });
});

describe("a damaged database", () => {
  it("is set aside whole, told in the status, and work goes on", async () => {
    const project = await testProject();
    const rubbish = Buffer.alloc(64 * 1024, "not a database ");
    await project.write(".aegis/state/aegis.db", rubbish);
    const { client } = await project.start();
    const session = await createSession(client);
    expect(await talk(client, session.id, "still here")).toBe("you said: still here");
    const aside = (await readdir(stateDir(project.dir))).filter((name) =>
      /^aegis\.db\..*(corrupt|damaged|broken)/.test(name),
    );
    expect(aside).toHaveLength(1);
    expect((await readFile(join(stateDir(project.dir), aside[0] ?? ""))).equals(rubbish)).toBe(true);
    const { config_problems } = await client.call("status");
    expect(config_problems).toEqual([expect.stringContaining(aside[0] ?? "nothing was set aside")]);
  });
});
