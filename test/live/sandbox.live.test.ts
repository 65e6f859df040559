/** Real CLIs in a sandbox: they answer, remember, reach the plane and work in the project, and reach nothing else. */
import { existsSync } from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, onTestFinished, test } from "vitest";
import { reasonToSkip } from "../../packages/base/sandbox/test/here.ts";
import { obedient, testProject } from "../helpers/project.ts";
import { createSession } from "../helpers/talk.ts";
import { tempDir } from "../helpers/temp-dir.ts";
import type { LiveHarness } from "./support/harness.ts";
import { claudeCode } from "./support/harnesses/claude-code.ts";
import { codex } from "./support/harnesses/codex.ts";
import { gemini } from "./support/harnesses/gemini.ts";
import { opencode } from "./support/harnesses/opencode.ts";
import { turnFor } from "./support/talk.ts";

const skip = reasonToSkip();

const rows = [claudeCode, codex, gemini, opencode].flatMap((harness) =>
  (["workspace", "strict"] as const).map((level) => ({ name: harness.harness, level, harness })),
);

/** A command that names a script by its path must be readable where the script lies. */
const programs = fileURLToPath(new URL("./node_modules", import.meta.url));

/** The port of the fake model, which the settings of a harness name somewhere. */
function portsIn(value: unknown): string[] {
  const found = JSON.stringify(value).matchAll(/127\.0\.0\.1:(\d+)/g);
  return [...new Set([...found].map(([, port]) => `localhost:${port}`))];
}

async function confinedProject(harness: LiveHarness, level: string) {
  const folder = await tempDir();
  const model = await harness.start(folder);
  onTestFinished(() => model.close());
  const settings = await readFile(join(folder, "codex-home/config.toml"), "utf8").catch(() => "");
  const allow = { hosts: portsIn([model.agent, settings]), read: [programs, ...(harness === codex ? [] : [folder])] };
  const { model: name, ...rest } = model.agent;
  const entry = { harness: harness.harness, permission: "full", ...rest, ...(name === null ? {} : { model: name }) };
  const config = { agents: { dev: { ...entry, sandbox: level, allow } } };
  const project = await testProject({ ...obedient, ".aegis.yaml": JSON.stringify(config) });
  return { project, model };
}

describe.skipIf(skip !== null)("in a sandbox", () => {
  test.each(rows)("$name works at $level and reaches nothing else", async ({ harness, level }) => {
    const { project, model } = await confinedProject(harness, level);
    const daemon = await project.start();
    const { id } = await createSession(daemon.client, { agent: "dev" });
    const ask = (text: string) => turnFor(daemon.client, id, text);
    expect(await ask("remember 42")).toMatchObject({ reason: "completed", text: "reply: remember 42" });
    expect((await ask(`TOOL ${harness.planeTool("aegis_list_agents")} {}`)).text).toContain("dev");
    await ask(harness.makeFile(join(project.dir, "made.txt")));
    expect(existsSync(join(project.dir, "made.txt"))).toBe(true);
    // In a new process, from its own record.
    await daemon.kill();
    const { client } = await project.start();
    expect((await turnFor(client, id, "again")).text).toBe("reply: again");
    expect(model.calls().at(-1)).toContain("remember 42");
    if (harness !== claudeCode) return;
    const home = join(dirname(project.dir), "home");
    await mkdir(join(home, ".ssh"), { recursive: true });
    await writeFile(join(home, ".ssh/id"), "SECRET");
    // In a file, because the gate asks about commands whose text it understands.
    const attack = [
      `cat ${home}/.ssh/id > stolen.txt`,
      `touch ${home}/made ${home}/.claude/settings.json`,
      `echo $AEGIS_SANDBOX > level.txt`,
    ];
    await project.write("attack.sh", attack.join("\n"));
    await turnFor(client, id, `TOOL Bash ${JSON.stringify({ command: "bash attack.sh", description: "an attack" })}`);
    expect(await readFile(join(project.dir, "level.txt"), "utf8")).toBe(`${level}\n`);
    expect(await readFile(join(project.dir, "stolen.txt"), "utf8")).toBe("");
    expect([join(home, "made"), join(home, ".claude/settings.json")].filter((path) => existsSync(path))).toEqual([]);
  });
});
