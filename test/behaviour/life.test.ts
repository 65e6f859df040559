import { mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { daemonFilePath, processStartTime, stateDir } from "@aegis/lib/daemon-file.ts";
import { describe, expect, it } from "vitest";
import { testsUsePostgres } from "../helpers/cluster.ts";
import { isRunning } from "../helpers/pids.ts";
import { testProject } from "../helpers/project.ts";
import { exists, inTurn } from "../helpers/projects/life.ts";
import { createSession, endings, talk } from "../helpers/talk.ts";
import { waitUntil } from "../helpers/wait-until.ts";

describe("one daemon per project", () => {
  it("a second one refuses, names the first and leaves it alone", async () => {
    const project = await testProject();
    const first = await project.start();
    const exit = await project.launch().exited;
    expect(exit.code).toBe(4);
    expect(exit.stderr).toContain(`a daemon already runs for this project (pid ${first.pid}, ${first.file.url})`);
    expect(exit.stderr).toContain("aegis down");
    expect((await first.client.call("status")).pid).toBe(first.pid);
    expect(JSON.parse(await readFile(daemonFilePath(project.dir), "utf8"))).toMatchObject(first.file);
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
    const file = { ...foreign, url: "http://127.0.0.1:1", token: "t", version: "0", id: "x" };
    await project.write(".aegis/state/daemon.json", JSON.stringify(file));
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

describe("a project that goes away", () => {
  it("deleted: the daemon ends and does not bring the folder back", { tags: "slow" }, async () => {
    const project = await testProject();
    const { daemon, session } = await inTurn(project);
    // The daemon may write a file into a folder that is being removed.
    await rm(project.dir, { recursive: true, force: true, maxRetries: 10, retryDelay: 20 });
    // Events that still happen there are not stored.
    const late = await createSession(daemon.client, { prompt: "too late" });
    await waitUntil("the late turn ended", async () => (await endings(daemon.client, late.id))[0] !== "running");
    await daemon.client.call("updateSession", { path: { session: session.id }, body: { title: "too late as well" } });
    expect(await daemon.exited).toMatchObject({ code: 0, signal: null });
    expect(await exists(project.dir)).toBe(false);
  });

  it("replaced at once by another: the daemon ends and leaves the new one alone", { tags: "slow" }, async () => {
    const project = await testProject();
    const daemon = await project.start();
    await rename(project.dir, `${project.dir}-moved`);
    await mkdir(stateDir(project.dir), { recursive: true });
    await writeFile(join(project.dir, "file"), "of the new project");
    expect(await daemon.exited).toMatchObject({ code: 0, signal: null });
    expect(await readdir(stateDir(project.dir))).toEqual([]);
  });
});

describe.skipIf(testsUsePostgres)("a damaged database file", () => {
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
    const { store } = await client.call("status");
    expect(store.losses).toEqual([
      expect.objectContaining({
        kind: "damaged",
        set_aside: expect.stringContaining(aside[0] ?? "nothing was set aside"),
      }),
    ]);
  });
});
