/** What keeps a daemon from starting, and what it says. */
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { chmod, readFile } from "node:fs/promises";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { daemonFilePath, stateDir } from "@aegis/lib/daemon-file.ts";
import { describe, expect, it, onTestFinished } from "vitest";
import { testsUsePostgres } from "../helpers/cluster.ts";
import { testProject } from "../helpers/project.ts";
import { exists } from "../helpers/projects/life.ts";
import { createSession, talk } from "../helpers/talk.ts";

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

  it.skipIf(testsUsePostgres)("a database of a newer Aegis, which stays as it is", async () => {
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
