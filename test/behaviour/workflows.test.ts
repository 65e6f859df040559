/** Workflows of plugins as their authors and users meet them on the command line, while files change under them. */
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import type { Run, RunView } from "../../src/contract/run.ts";
import { type AegisProject, aegisProject, cliPath, offlineConfig } from "../helpers/aegis.ts";
import { waitUntil } from "../helpers/wait-until.ts";

const head = 'import { workflow, z } from "aegis";\n';
const file = ".aegis/plugins/flows.ts";
const long = `${head}
export const long = workflow("long", async (engine) => {
  await engine.bash("echo first >> effects");
  await engine.checkpoint("half-way", {});
  await engine.bash("echo second >> effects");
  const answer = await engine.askHuman("Go on?");
  return "old " + answer;
});
`;
const changed = long.replace("echo second", "echo other").replace('"old "', '"new "');

const withPlugin = (text: string, more: Record<string, string> = {}) =>
  aegisProject({ ".aegis.yaml": offlineConfig, [file]: text, ...more });

async function view(project: AegisProject, run: string): Promise<RunView> {
  return (await project.json<{ run: RunView }>("workflow", "status", run)).run;
}

async function untilStatus(project: AegisProject, run: string, status: Run["status"]): Promise<RunView> {
  await waitUntil(
    `run ${run} is ${status}`,
    async () => {
      const { status: now } = await view(project, run);
      if (now !== status && now !== "running" && now !== "parked") throw new Error(`it is ${now}`);
      return now === status;
    },
    20_000,
  );
  return view(project, run);
}

async function detached(project: AegisProject, ...args: string[]): Promise<string> {
  return (await project.json<{ run: Run }>("workflow", "run", ...args, "--detach")).run.id;
}

async function asked(project: AegisProject): Promise<string> {
  let id = "";
  await waitUntil("it asks", async () => {
    const { asks } = await project.json<{ asks: { id: string }[] }>("asks");
    id = asks[0]?.id ?? "";
    return asks.length === 1;
  });
  return id;
}

const effects = async (project: AegisProject) =>
  (await readFile(join(project.root, "effects"), "utf8")).trim().split("\n");

describe("a plugin that changes while its workflow runs", { timeout: 60_000 }, () => {
  it("parks the run that its new code does not fit, and goes on as its user chooses", async () => {
    const project = await withPlugin(long);
    const run = await detached(project, "long");
    await asked(project);
    await writeFile(join(project.root, file), changed);
    const parked = await untilStatus(project, run, "parked");
    expect(parked.parked).toMatchObject({ reason: "diverged" });
    expect(parked.parked?.recorded).toContain("echo second");
    expect(parked.parked?.asked).toContain("echo other");
    const short = run.slice(-8);
    const { stdout } = await project.aegis("workflow", "status", run);
    for (const choice of [`resume ${short} --force`, `cancel ${short}`, `fork ${short}`])
      expect(stdout).toContain(`aegis workflow ${choice}`);
    expect(await effects(project)).toEqual(["first", "second"]);

    const { run: fork } = await project.json<{ run: Run }>("workflow", "fork", run);
    expect(fork).toMatchObject({ forked_from: run });
    await waitUntil("the fork asks", async () => (await view(project, fork.id)).asks.length === 1);
    expect(await effects(project)).toEqual(["first", "second", "other"]);
    expect((await project.aegis("workflow", "cancel", fork.id)).code).toBe(0);

    await project.aegis("workflow", "resume", run, "--force");
    await waitUntil("the run asks again", async () => (await view(project, run)).asks.length === 1);
    expect(await effects(project)).toEqual(["first", "second", "other", "other"]);
    expect((await project.aegis("answer", await asked(project), "yes")).code).toBe(0);
    expect(await untilStatus(project, run, "ok")).toMatchObject({ result: "new yes" });
  });

  it("lets the run wait while it is gone, and go on with its question when it is back", async () => {
    const project = await withPlugin(long);
    const run = await detached(project, "long");
    const ask = await asked(project);
    await rm(join(project.root, file));
    expect((await untilStatus(project, run, "parked")).parked).toMatchObject({ reason: "missing" });
    await writeFile(join(project.root, file), long);
    await untilStatus(project, run, "running");
    expect(await asked(project)).toBe(ask);
    await project.aegis("answer", ask, "yes");
    expect(await untilStatus(project, run, "ok")).toMatchObject({ result: "old yes" });
    expect(await effects(project)).toEqual(["first", "second"]);
  });
});

describe("what is wrong with a workflow", { timeout: 60_000 }, () => {
  it.each([
    ["not async", `${head}\nexport const a = workflow("a", (_engine) => 1);\n`, /flows\.ts:3: .*is not async/],
    [
      "without engine",
      `${head}\nexport const a = workflow("a", async () => 1);\n`,
      /flows\.ts:3: .*takes no parameter/,
    ],
    [
      "of the same name as one before",
      `${head}export const a = workflow("a", async (_e) => 1);\nexport const b = workflow("a", async (_e) => 2);\n`,
      /flows\.ts:3: .*there are two workflows "a"/,
    ],
    [
      "of the name of one that exists",
      `${head}\n\nexport const a = workflow("tdd_cycle", async (_engine) => 1);\n`,
      /flows\.ts:4: a workflow "tdd_cycle" exists already, from the catalog/,
    ],
  ])("is said with its line: %s", async (_, text, message) => {
    const project = await withPlugin(text);
    const list = await project.json<{ plugins: { status: string; reason: string }[] }>("plugin", "list");
    expect(list.plugins).toMatchObject([{ status: "failed", reason: expect.stringMatching(message) }]);
    expect((await project.aegis("plugin", "show", "flows")).stdout).toMatch(message);
  });
});

const typed = `${head}
export const greet = workflow("greet", {
  description: "Greets.",
  input: z.object({
    name: z.string().describe("whom"),
    times: z.number().int().default(1),
    tags: z.array(z.string()).default([]),
    loud: z.boolean().default(false),
  }),
}, async (engine, args) => {
  await engine.checkpoint("begun", {});
  if (args.loud) await engine.askHuman("So loud?");
  return args;
});
export const endless = workflow("endless", async (engine) => {
  await engine.step("one", () => 1);
  for (;;) {}
});
`;

describe("on the command line", { timeout: 60_000 }, () => {
  it("takes flags and JSON alike, shows what it takes, and says what is wrong", async () => {
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

  it("ends a body that loops for ever while everything else answers", async () => {
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

  it.skipIf(!existsSync("/usr/bin/script"))("draws a run in a terminal, with what it passed before", async () => {
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
  });
});
