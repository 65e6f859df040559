/** Workflows on the command line. */
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { promisify } from "node:util";
import type { RunView } from "@aegis/contract/run.ts";
import { describe, expect, it } from "vitest";
import { aegisProject, cliPath, offlineConfig } from "../helpers/aegis.ts";
import { asked, detached, file, head, typed, view, withPlugin } from "../helpers/projects/flows.ts";
import { scaled } from "../helpers/slowness.ts";
import { waitUntil } from "../helpers/wait-until.ts";

describe("on the command line", { timeout: scaled(60_000) }, () => {
  it("takes flags and JSON alike, shows what it takes, and says what is wrong", { tags: "slow" }, async () => {
    const project = await withPlugin(typed);
    const result = async (...args: string[]) =>
      (await project.json<{ run: RunView }>("workflow", "run", "greet", ...args)).run.result;
    const given = { name: "Bob", times: 3, tags: ["a", "b"], loud: false };
    expect(await result("--name", "Bob", "--times", "3", "--tags", "a", "--tags", "b")).toEqual(given);
    expect(await result("--kwargs", JSON.stringify(given))).toEqual(given);
    const help = await project.aegis("workflow", "run", "greet", "--help");
    for (const part of [/Greets\./, /--name <string> +whom \(required\)/, /--times <integer> +\(default 1\)/])
      expect(help.stdout).toMatch(part);
    const wrong = await project.aegis("workflow", "run", "greet", "--times", "x", "--nam", "y");
    expect(wrong.code).toBe(2);
    for (const part of ['times: expected a number, not "x"', 'unknown argument "nam" (did you mean "name"?)'])
      expect(wrong.stderr).toContain(part);
  });

  it("ends a body that loops for ever while everything else answers", { tags: "slow" }, async () => {
    const project = await aegisProject({
      ".aegis.yaml": `${offlineConfig}plugins:\n  limits: { unresponsive_timeout: 5 }\n`,
      [file]: typed,
      ".aegis/plugins/other.ts": `${head}export const other = workflow("other", async (engine) => engine.step("x", () => 7));\n`,
    });
    const run = await detached(project, "endless");
    await waitUntil("it loops", async () => (await view(project, run)).steps_done === 1);
    expect((await project.json<{ run: RunView }>("workflow", "run", "other")).run.result).toBe(7);
    expect(await view(project, run)).toMatchObject({ status: "running" });
    await waitUntil("it is ended", async () => (await view(project, run)).status === "error", 20_000);
    expect((await view(project, run)).error?.message).toContain("an endless loop?");
    expect((await project.json<{ run: RunView }>("workflow", "run", "greet", "--name", "x")).run.status).toBe("ok");
  });

  it.skipIf(!existsSync("/usr/bin/script"))(
    "draws a run in a terminal, with what it passed before",
    { tags: "slow" },
    async () => {
      const project = await withPlugin(typed);
      const run = await detached(project, "greet", "--name", "x", "--loud");
      const ask = await asked(project);
      const command = `stty cols 100; '${process.execPath}' '${cliPath}' workflow watch ${run}`;
      const drawn = promisify(execFile)("/usr/bin/script", ["-qc", command, "/dev/null"], {
        cwd: project.root,
        env: { ...project.env, TERM: "xterm" },
      });
      await waitUntil("it is drawn", async () => (await project.aegis("answer", ask, "yes")).code === 0);
      const { stdout } = await drawn;
      expect(stdout).toContain(`greet ${run.slice(-8)}`);
      expect(stdout).toContain("✓ begun");
      expect(stdout).toContain('→ {"name":"x"');
    },
  );
});
