// @module-tag slow
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { chmod } from "node:fs/promises";
import { aegisProject, cliPath } from "@aegis/test/helpers/aegis.ts";
import { noPostgres } from "@aegis/test/helpers/cluster.ts";
import { scaled } from "@aegis/test/helpers/slowness.ts";
import { tempDir } from "@aegis/test/helpers/temp-dir.ts";
import { waitUntil } from "@aegis/test/helpers/wait-until.ts";
import { expect, it } from "vitest";

it("plays the whole tour and cleans up", { timeout: scaled(60_000) }, async () => {
  const project = await aegisProject({});
  const { code, stdout, stderr } = await project.aegis("demo");
  expect(stderr).toBe("");
  expect(code).toBe(0);
  expect(stdout).toContain("kill -9");
  expect(stdout).toContain("The end.");
  expect(stdout).toContain("All 5 steps happened");
  const folder = /\/\S*aegis-demo-\w+/.exec(stdout)?.[0] ?? "";
  expect(folder).not.toBe("");
  expect(existsSync(folder)).toBe(false);
});

it.skipIf(noPostgres !== null)(
  "plays the tour of a cluster and leaves nothing",
  { timeout: scaled(180_000) },
  async () => {
    const project = await aegisProject({});
    const { code, stdout, stderr } = await project.aegis("demo", "--cluster");
    expect(stderr).toBe("");
    expect(code).toBe(0);
    expect(stdout).toContain("fenced, and a member again");
    expect(stdout).toContain("24 orders packed, each once; 2 stories told, each once");
    expect(stdout).toContain("All 6 steps happened");
    // It kills the first node and the server by pid.
    const pids = [...stdout.matchAll(/kill -(?:9|STOP) (\d+)/g)].map(([, pid]) => Number(pid));
    expect(pids).toHaveLength(3);
    for (const pid of pids) expect(existsSync(`/proc/${pid}`)).toBe(false);
  },
);

it.skipIf(noPostgres !== null).each(["1. A PostgreSQL server", "2. Work on every node"])(
  "leaves nothing if Ctrl-C ends the tour of a cluster at %s",
  { timeout: scaled(120_000) },
  async (step) => {
    const project = await aegisProject({});
    const temp = await tempDir();
    // PostgreSQL may have to run as another user.
    await chmod(temp, 0o755);
    // A group of its own, as a terminal gives to a program: a signal reaches all that belong to it.
    const child = spawn(process.execPath, [cliPath, "demo", "--cluster"], {
      cwd: project.root,
      env: { ...project.env, TMPDIR: temp },
      detached: true,
      stdio: ["ignore", "pipe", "inherit"],
    });
    let output = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      output += text;
    });
    const exited = once(child, "exit");
    await waitUntil("the step begins", () => output.includes(step), scaled(60_000));
    for (let times = 1; times <= 2; times += 1) process.kill(-(child.pid ?? 0), "SIGINT");
    const [code] = await exited;
    expect(code).toBe(130);
    expect(output).not.toContain("went wrong");
    expect(readdirSync(temp).filter((name) => name.startsWith("aegis-"))).toEqual([]);
    expect(commandLines().filter((line) => line.includes(temp))).toEqual([]);
  },
);

function commandLines(): string[] {
  const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  return pids.flatMap((pid) => {
    try {
      return [readFileSync(`/proc/${pid}/cmdline`, "utf8")];
    } catch {
      return [];
    }
  });
}
