import { existsSync } from "node:fs";
import { expect, it } from "vitest";
import { aegisProject } from "../helpers/aegis.ts";
import { noPostgres } from "../helpers/cluster.ts";
import { scaled } from "../helpers/slowness.ts";

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
