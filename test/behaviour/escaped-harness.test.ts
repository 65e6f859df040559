// @module-tag slow
/** Harnesses from which a program escapes: it leaves its process group and ignores SIGTERM. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { aegisProject } from "../helpers/aegis.ts";
import { isRunning } from "../helpers/pids.ts";
import { readPlace } from "../helpers/plane-agent.ts";
import { type Project, testProject } from "../helpers/project.ts";
import { escapedPid, escaping, run } from "../helpers/projects/escaping.ts";
import { createSession, say } from "../helpers/talk.ts";
import { waitUntil } from "../helpers/wait-until.ts";

describe("a harness", () => {
  const agent = fileURLToPath(new URL("../fixtures/bin/plane-agent.mjs", import.meta.url));
  const command = ["sh", "-c", `${run("agent-$$")}; exec "$0" "$1"`, process.execPath, agent];
  const files = {
    ...escaping,
    ".aegis.yaml": `default_agent: dev\nagents:\n  dev: { harness: acp, options: { command: ${JSON.stringify(command)} } }\n`,
  };

  /** A session with its harness up: the pid of that, and of what it let escape. */
  async function startSession(project: Project, client: Parameters<typeof createSession>[0], name: string) {
    const session = await createSession(client);
    await say(client, session.id, `hold ${name}`);
    const { pid } = await readPlace(project.dir, name);
    return { session, pid, escaped: await escapedPid(project.dir, `agent-${pid}`) };
  }

  it("that a killed daemon left behind is ended by down --force, with what escaped from it", async () => {
    const project = await aegisProject(files);
    await project.aegis("up");
    await project.aegis("spawn", "dev", "-m", "hold one");
    const { pid } = await readPlace(project.root, "one");
    const escaped = await escapedPid(project.root, `agent-${pid}`);
    const file = join(project.root, ".aegis/state/daemon.json");
    const daemon = JSON.parse(await readFile(file, "utf8")) as { pid: number };
    process.kill(daemon.pid, "SIGKILL");
    await waitUntil("the daemon is gone", () => !isRunning(daemon.pid));

    const told = await project.aegis("down");
    expect(told.stderr).toContain(`(pid ${escaped}) was left behind\n`);
    expect(told.stderr).toContain("aegis down --force");
    expect(isRunning(escaped)).toBe(true);
    const forced = await project.aegis("down", "--force");
    expect(forced).toMatchObject({ code: 0, stdout: "No daemon runs here.\n" });
    expect(forced.stderr).toContain(`(pid ${escaped}) was left behind and was killed`);
    expect([pid, escaped].filter(isRunning)).toEqual([]);
    expect(await readFile(file, "utf8").catch(() => null)).toBeNull();
    expect(await project.json("down", "--force")).toEqual({ stopped: false, pid: null, left_behind: 0, ended: 0 });
    expect((await project.aegis("ps")).stdout).toContain("dev");
    // This daemon repeats the turn, and another program may have escaped from its harness.
    await project.aegis("down", "--force");
  });

  it("takes what escaped from it along when its session closes, and nothing of another session", async () => {
    const project = await testProject(files);
    const { client } = await project.start();
    const one = await startSession(project, client, "one");
    const other = await startSession(project, client, "other");
    expect([one.escaped, other.escaped].map(isRunning)).toEqual([true, true]);
    await client.call("closeSession", { path: { session: one.session.id } });
    await waitUntil("what escaped is gone", () => !isRunning(one.escaped));
    expect([other.pid, other.escaped].map(isRunning)).toEqual([true, true]);
  });

  it("takes it along when it ends by itself", async () => {
    const project = await testProject(files);
    const { client } = await project.start();
    const { pid, escaped } = await startSession(project, client, "one");
    process.kill(pid, "SIGKILL");
    await waitUntil("what escaped is gone", () => !isRunning(escaped));
  });

  it.each(["SIGTERM", "SIGINT", "shutdown"] as const)("leaves nothing when the daemon ends by %s", async (way) => {
    const project = await testProject(files);
    const daemon = await project.start();
    const { pid, escaped } = await startSession(project, daemon.client, "one");
    if (way === "shutdown") await daemon.client.call("shutdown", { body: { force: true } });
    else {
      daemon.signal(way);
      // The second one cuts the turn that is in progress.
      await waitUntil("the first signal has arrived", () => daemon.output.includes("asked to stop"));
      daemon.signal(way);
    }
    await daemon.exited;
    expect([pid, escaped].map(isRunning)).toEqual([false, false]);
  });
});
