/** Stops and kills every step of installing, updating and uninstalling: the project is as before, or all of it is done. */
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { buildTrust } from "../../../../src/daemon/build-trust.ts";
import { settleInstalls } from "../../../../src/daemon/plugin-install/settle.ts";
import type { Installer } from "../../../../src/runtime/plugins/install/installer.ts";
import {
  copyProject,
  firstVersion,
  type PluginProject,
  pluginProject,
  secondVersion,
  timeless,
} from "../../../helpers/plugin-project.ts";

const fixture = fileURLToPath(new URL("fixtures/killed.ts", import.meta.url));
const run = promisify(execFile);

type Action = "install" | "update" | "uninstall";
const actions: readonly Action[] = ["install", "update", "uninstall"];

async function prepare(action: Action): Promise<PluginProject> {
  const project = await pluginProject(firstVersion);
  if (action === "install") return project;
  await (await project.installer()).install("hello", { from: project.source, force: false });
  if (action === "update") await project.offer(secondVersion);
  return project;
}

async function perform(installer: Installer, action: Action, project: PluginProject): Promise<unknown> {
  if (action === "install") return installer.install("hello", { from: project.source, force: false });
  if (action === "update") return installer.update("hello", { force: false });
  return installer.uninstall("hello", { purge: false, force: false });
}

/** The steps of an undisturbed run, and how it leaves the project. */
async function undisturbed(action: Action): Promise<{ steps: string[]; after: Map<string, string> }> {
  const project = await prepare(action);
  const steps: string[] = [];
  await perform(await project.installer({ at: (step) => void steps.push(step) }), action, project);
  return { steps, after: comparable(await project.snapshot(), project) };
}

function comparable(shot: ReadonlyMap<string, string>, { source }: PluginProject): Map<string, string> {
  return new Map([...timeless(shot)].map(([path, text]) => [path, text.replaceAll(source, "<source>")]));
}

async function mayRun(project: PluginProject): Promise<boolean> {
  const { trust, root } = await buildTrust(project.root, { HOME: project.home });
  return (await trust.mayRun({ name: "hello", dir: `${root}/.aegis/plugins/hello` })).allowed;
}

describe.each(actions)("a fault in the %s", (action) => {
  it("leaves every byte as it was, whichever step fails, and does not keep the next try back", async () => {
    const { steps, after } = await undisturbed(action);
    expect(steps.length).toBeGreaterThan(6);
    const project = await prepare(action);
    const before = await project.snapshot();
    for (const [index, step] of steps.slice(0, -1).entries()) {
      let left = index;
      const at = (name: string) => {
        if (left-- === 0) throw new Error(`no luck at ${name}`);
      };
      await expect(perform(await project.installer({ at }), action, project)).rejects.toThrow(`no luck at ${step}`);
      expect(await project.snapshot(), `after a fault at ${step}`).toEqual(before);
      expect(await mayRun(project).catch(() => false), `trust after a fault at ${step}`).toBe(action !== "install");
    }
    await perform(await project.installer(), action, project);
    expect(comparable(await project.snapshot(), project)).toEqual(after);
  });

  it("is finished or taken back by the next command when the process is killed, at whichever step", async () => {
    const { steps, after } = await undisturbed(action);
    const decided = steps.indexOf("decide") + 1;
    const original = await prepare(action);
    // Up to the decision nothing but the workspace is written: a few of those steps stand for all.
    const early = ["begin", "script", "decide"].map((step) => steps.indexOf(step));
    const late = steps.map((_, index) => index).filter((index) => index >= decided);
    const tries = [...early, ...late].map((index) => async () => {
      const step = steps[index];
      const project = await copyProject(original);
      const before = await project.snapshot();
      const from = action === "install" ? project.source : original.source;
      const argv = [fixture, project.root, original.home, action, from, String(index)];
      const ended = await run(process.execPath, argv, { env: { PATH: process.env.PATH } }).catch((error) => error);
      expect(ended.signal, `${step}: ${ended.stderr}`).toBe("SIGKILL");
      if (index < decided) expect(await project.snapshot(), `killed at ${step}`).toEqual(before);
      const env = { HOME: original.home, PATH: process.env.PATH };
      // The next command does it, and so does the start of a daemon.
      const told =
        index % 2 === 0
          ? await (await project.installer({ env })).recover()
          : await settleInstalls(project.root, await buildTrust(project.root, env));
      expect(told.length, `killed at ${step}`).toBe(index < decided ? 0 : 1);
      const now = await project.snapshot();
      if (index < decided) expect(now).toEqual(before);
      else expect(comparable(now, { ...project, source: from }), `recovered from ${step}`).toEqual(after);
    });
    for (let index = 0; index < tries.length; index += 3)
      await Promise.all(tries.slice(index, index + 3).map((attempt) => attempt()));
  }, 120_000);
});
