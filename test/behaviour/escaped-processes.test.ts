// @module-tag slow
/** Programs that leave their process group and ignore SIGTERM, started in every way in which the built daemon starts one. */
import { chmod, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { aegisProject, cliPath } from "../helpers/aegis.ts";
import { storeEnv } from "../helpers/cluster.ts";
import { nativeConfig } from "../helpers/fake-models/config.ts";
import { openaiChatWire } from "../helpers/fake-models/openai-chat.ts";
import { fakeModels } from "../helpers/fake-models/server.ts";
import { isRunning } from "../helpers/pids.ts";
import { testProject } from "../helpers/project.ts";
import { escapedPid, escaping, run } from "../helpers/projects/escaping.ts";
import { toolUser, useTool } from "../helpers/projects/tool-user.ts";
import { createSession, talk } from "../helpers/talk.ts";
import { waitUntil } from "../helpers/wait-until.ts";

describe("a command of a native agent", () => {
  async function startNative() {
    const models = await fakeModels(openaiChatWire, ({ transcript }) => {
      const last = transcript.at(-1) ?? "";
      if (last.startsWith("result:")) return { text: last };
      const [, seconds, command] = /run (\d+) (.+)/.exec(last) ?? [];
      const input = { command, timeout_seconds: Number(seconds) };
      return { calls: [{ id: "call-1", name: "bash", input }] };
    });
    const project = await testProject({ ...escaping, ".aegis.yaml": nativeConfig(models) });
    const { client } = await project.start();
    return { project, client, session: await createSession(client) };
  }

  it("takes what escaped from it along when its time is over", async () => {
    const { project, client, session } = await startNative();
    expect(await talk(client, session.id, `run 1 ${run("late")}; sleep 1000`)).toContain("timed out");
    expect(isRunning(await escapedPid(project.dir, "late"))).toBe(false);
  });

  it("takes it along when it returns", async () => {
    const { project, client, session } = await startNative();
    expect(await talk(client, session.id, `run 60 ${run("quick")}; echo fine`)).toContain("fine");
    const pid = await escapedPid(project.dir, "quick");
    await waitUntil("what escaped is gone", () => !isRunning(pid));
  });
});

it("a command of a workflow takes what escaped from it along when its time is over", async () => {
  const project = await aegisProject({
    ...escaping,
    ".aegis.yaml": "default_agent: dev\nagents:\n  dev: { harness: scripted }\n",
    ".aegis/plugins/flows.ts": `import { workflow } from "aegis";
export const slow = workflow("slow", async (engine) => engine.bash(${JSON.stringify(`${run("step")}; sleep 1000`)}, { timeout: 1 }));
`,
  });
  const result = await project.aegis("workflow", "run", "slow");
  expect(`${result.stdout}${result.stderr}`).toContain("timed out");
  expect(isRunning(await escapedPid(project.root, "step"))).toBe(false);
});

it("a daemon that a command starts in another project stays", async () => {
  const [project, other] = [await aegisProject(), await aegisProject()];
  // A file, because commands of a workflow do not get the address of the project's database.
  const script = join(other.root, "up.sh");
  const variables = Object.entries(storeEnv()).map(([name, value]) => `${name}='${value}' `);
  await writeFile(
    script,
    `cd ${other.root} && ${variables.join("")}HOME=${other.env.HOME} ${process.execPath} ${cliPath} up`,
  );
  const command = `sh ${script}`;
  await mkdir(join(project.root, ".aegis/plugins"), { recursive: true });
  await writeFile(
    join(project.root, ".aegis/plugins/flows.ts"),
    `import { workflow } from "aegis";
export const start = workflow("start", async (engine) => engine.bash(${JSON.stringify(command)}));
`,
  );
  const run = await project.aegis("workflow", "run", "start");
  expect(`${run.stdout}${run.stderr}`).toContain('"exit":0');
  const pid = Number(await other.daemonPid());
  expect(isRunning(pid)).toBe(true);
  await project.aegis("down");
  expect(isRunning(pid)).toBe(true);
});

it("a plugin's program takes what escaped from it along when its time is over", async () => {
  const tool = { name: "slow", description: "d", command: "./slow.sh", timeout: 1000 };
  const project = await testProject({
    ...toolUser,
    ".aegis/plugins/programs/escape.sh": escaping["escape.sh"],
    ".aegis/plugins/programs/plugin.json": JSON.stringify({ name: "programs", version: "1.0.0", tools: [tool] }),
    ".aegis/plugins/programs/slow.sh": `#!/bin/sh\nAT=${"$"}{AT:-../../..} sh escape.sh program; sleep 1000\n`,
  });
  await chmod(join(project.dir, ".aegis/plugins/programs/slow.sh"), 0o755);
  const { client } = await project.start();
  expect(await useTool(client, "slow")).toContain("no answer within 1 s");
  const pid = await escapedPid(project.dir, "program");
  await waitUntil("what escaped is gone", () => !isRunning(pid));
});
