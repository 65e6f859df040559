// @module-tag slow
/**
 * Stops every step of installing, updating and uninstalling: the project is as before, or all of it is done. What a kill
 * leaves on disk is what is there at that moment, so one run gives the picture of a kill at each of its steps; real
 * kills show that a process which is gone holds nobody up.
 */
import { execFile } from "node:child_process";
import { cp, rm } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { openUserKey } from "@aegis/lib/user-key.ts";
import { projectPlace, settleInstalls } from "@aegis/project/packages/places.ts";
import { buildTrust } from "@aegis/project/trust/project-trust.ts";
import {
  firstVersion,
  type PluginProject,
  pluginProject,
  secondVersion,
} from "@aegis/test/helpers/projects/plugin-install.ts";
import { tempDir } from "@aegis/test/helpers/temp-dir.ts";
import { describe, expect, it } from "vitest";
import { hasLeftovers } from "../../src/journal.ts";
import type { InstallPlace } from "../../src/place.ts";
import type { PluginInstaller } from "../../src/plugin/installer.ts";

const fixture = fileURLToPath(new URL("fixtures/killed.ts", import.meta.url));
const run = promisify(execFile);

type Action = "install" | "update" | "uninstall";
const actions: readonly Action[] = ["install", "update", "uninstall"];
/** The step after which nothing fails any more: all of it is in place. */
const last = "sealed";

async function prepare(action: Action): Promise<PluginProject> {
  const project = await pluginProject(firstVersion);
  if (action === "install") return project;
  await (await project.installer()).install("hello", { from: project.source, force: false });
  if (action === "update") await project.offer(secondVersion);
  return project;
}

async function perform(installer: PluginInstaller, action: Action, project: PluginProject): Promise<unknown> {
  if (action === "install") return installer.install("hello", { from: project.source, force: false });
  if (action === "update") return installer.update("hello", { force: false });
  return installer.uninstall("hello", { purge: false, force: false });
}

async function placeOf(project: PluginProject): Promise<InstallPlace> {
  return projectPlace(await buildTrust(project.root, { HOME: project.home }), await openUserKey(project.home));
}

async function mayRun(project: PluginProject): Promise<boolean> {
  const { trust, root } = await buildTrust(project.root, { HOME: project.home });
  return (
    (await trust.mayRun({ name: "hello", dir: join(root, ".aegis/plugins/hello") }).catch(() => null))?.allowed === true
  );
}

/** What the disk holds, of the project and of its user; locks that living processes hold are left out. */
async function copyOf(project: PluginProject): Promise<{ restore(): Promise<void> }> {
  const folder = await tempDir();
  const places = [project.root, project.home].map((path, index) => ({ path, copy: join(folder, String(index)) }));
  for (const { path, copy } of places)
    await cp(path, copy, { recursive: true, filter: (file) => !/config\.\d+\.lock$/.test(file) });
  return {
    async restore() {
      for (const { path, copy } of places) {
        await rm(path, { recursive: true });
        await cp(copy, path, { recursive: true });
      }
    },
  };
}

describe.each(actions)("a fault in the %s", (action) => {
  it("leaves every byte as it was, whichever step fails, and does not keep the next try back", async () => {
    const project = await prepare(action);
    const before = await project.snapshot();
    let failed = 0;
    while (true) {
      let [left, at] = [failed, last];
      const failing = (step: string) => {
        if (step === last || left-- > 0) return;
        at = step;
        throw new Error(`no luck at ${step}`);
      };
      const ending = perform(await project.installer({ at: failing }), action, project);
      const problem = await ending.then(
        () => null,
        (error: Error) => error.message,
      );
      if (at === last) {
        expect(problem).toBeNull();
        break;
      }
      failed++;
      expect(problem).toBe(`no luck at ${at}`);
      expect(await project.snapshot(), `after a fault at ${at}`).toEqual(before);
      expect(await mayRun(project), `trust after a fault at ${at}`).toBe(action !== "install");
    }
    expect(failed).toBeGreaterThan(6);
    expect(await mayRun(project)).toBe(action !== "uninstall");
  });

  it("is finished or taken back by the next command, wherever it was cut off", async () => {
    const project = await prepare(action);
    const [before, ranBefore] = [await project.snapshot(), await mayRun(project)];
    const steps: { name: string; disk: Awaited<ReturnType<typeof copyOf>> }[] = [];
    const at = async (name: string) => void steps.push({ name, disk: await copyOf(project) });
    await perform(await project.installer({ at }), action, project);
    const after = await project.snapshot();
    const decided = steps.findIndex(({ name }) => name === "decide") + 1;
    expect(decided).toBeGreaterThan(3);
    for (const [index, { name, disk }] of steps.entries()) {
      await disk.restore();
      const env = { HOME: project.home, PATH: process.env.PATH };
      if (index < decided) expect(await project.snapshot(), `cut off at ${name}`).toEqual(before);
      // The next command does it, and so does the start of a daemon.
      const told =
        index % 2 === 0
          ? await (await project.installer({ env })).recover()
          : await settleInstalls(await placeOf(project));
      expect(told.length, `cut off at ${name}`).toBe(index < decided ? 0 : 1);
      expect(await project.snapshot(), `recovered from ${name}`).toEqual(index < decided ? before : after);
      expect(await mayRun(project), `trust recovered from ${name}`).toBe(
        index < decided ? ranBefore : action !== "uninstall",
      );
      expect(await hasLeftovers(await placeOf(project))).toBe(false);
    }
  });
});

it.each([
  ["install", "script"],
  ["install", "done"],
  ["update", "done"],
  ["uninstall", "done"],
] as const)("a process that is killed in the %s, at the step '%s', holds nobody up", async (action, step) => {
  const project = await prepare(action);
  const before = await project.snapshot();
  const argv = [fixture, project.root, project.home, action, project.source, step];
  const ended = await run(process.execPath, argv, { env: { PATH: process.env.PATH } }).catch((error) => error);
  expect(ended.signal, ended.stderr).toBe("SIGKILL");
  const told = await (await project.installer()).recover();
  if (step === "script") expect([told, await project.snapshot()]).toEqual([[], before]);
  else expect(told).toEqual([`finished the ${action} of plugin "hello", which was interrupted`]);
  expect(await hasLeftovers(await placeOf(project))).toBe(false);
});
