// @module-tag slow
/** What a killed daemon left behind is named and ended by `aegis doctor`. */
import { spawn } from "node:child_process";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { aegisProject } from "../helpers/aegis.ts";
import { isRunning } from "../helpers/pids.ts";
import { escapedPid, escaping, run } from "../helpers/projects/escaping.ts";
import { waitUntil } from "../helpers/wait-until.ts";

describe("aegis doctor", () => {
  const files = {
    ...escaping,
    ".aegis.yaml": "default_agent: dev\nagents:\n  dev: { harness: scripted }\n",
    ".aegis/plugins/flows.ts": `import { workflow } from "aegis";
export const quick = workflow("quick", async (engine) => engine.bash("true"));
export const stay = workflow("stay", async (engine) => engine.bash(${JSON.stringify(`${run("stay")}; sleep 1000`)}));
`,
  };

  it("names what a killed daemon left, and ends it", async () => {
    const project = await aegisProject(files);
    await project.aegis("workflow", "run", "stay", "--detach");
    const pid = await escapedPid(project.root, "stay");
    process.kill(Number(await project.daemonPid()), "SIGKILL");
    await waitUntil("the daemon is gone", async () => (await project.daemonPid()) === null);
    expect(isRunning(pid)).toBe(true);
    const told = await project.aegis("doctor");
    expect(told.stdout).toContain(`(pid ${pid})`);
    expect(told.stdout).toMatch(new RegExp(`aegis doctor --fix kills them, or kill -9 .*\\b${pid}\\b`));
    expect((await project.aegis("down")).stderr).toContain(`(pid ${pid}) was left behind`);
    await project.aegis("doctor", "--fix");
    expect(isRunning(pid)).toBe(false);
  });

  it("names what outlived its child beside a running daemon, and spares what has not", async () => {
    const project = await aegisProject(files);
    await project.aegis("workflow", "run", "quick");
    await project.aegis("workflow", "run", "stay", "--detach");
    const busy = await escapedPid(project.root, "stay");
    const state = join(project.root, ".aegis/state");
    const ledger = (await readFile(join(state, "processes.jsonl"), "utf8")).trim().split("\n");
    const { child } = JSON.parse(ledger[0] ?? "") as { child: string };
    const lost = spawn("sleep", ["1000"], { env: { AEGIS_OWNER: state, AEGIS_CHILD: child }, stdio: "ignore" });
    const pid = Number(lost.pid);
    onTestFinished(() => {
      lost.kill("SIGKILL");
    });
    const told = await project.aegis("doctor");
    expect(told.stdout).toContain(`(pid ${pid})`);
    expect(told.stdout).not.toContain(`(pid ${busy})`);
    await project.aegis("doctor", "--fix");
    await waitUntil("it is gone", () => !isRunning(pid));
    expect(isRunning(busy)).toBe(true);
    await project.aegis("down", "--force");
    expect(isRunning(busy)).toBe(false);
    expect(await readdir(join(project.root, "escaped"))).toEqual(["stay"]);
  });
});
