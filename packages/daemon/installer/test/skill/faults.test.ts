// @module-tag slow
/**
 * Stops every step of installing, updating and removing a skill: the place is as before, or all of it is done. What a
 * kill leaves on disk is what is there at that moment, so one run gives the picture of a kill at each of its steps; real
 * kills show that the lock of a dead process does not delay the next one.
 */
import { execFile } from "node:child_process";
import { cp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { SkillScope } from "@aegis/contract/skill-install.ts";
import { settleInstalls } from "@aegis/project/packages/places.ts";
import { skillPage } from "@aegis/test/helpers/fake-clawhub.ts";
import { describe, expect, test } from "vitest";
import type { Checkpoint } from "../../src/journal.ts";
import { hasLeftovers } from "../../src/journal.ts";
import type { SkillInstaller } from "../../src/skill/installer.ts";
import { type SetUp, setUp, writeFiles } from "./set-up.ts";

const fixture = fileURLToPath(new URL("fixtures/killed.ts", import.meta.url));
const run = promisify(execFile);
const { signal } = new AbortController();

type Action = "install" | "update" | "remove";
const actions = (["install", "update", "remove"] as const).flatMap((action) =>
  (["project", "user"] as const).map((scope) => [action, scope] as const),
);

type Ground = { base: string; root: string; home: string; setUp: SetUp };

async function ground(action: Action, scope: SkillScope): Promise<Ground> {
  const made = await setUp("http://127.0.0.1:9");
  const { base, root, home } = made;
  const source = { "SKILL.md": skillPage("pdf", "one"), "old.md": "x" };
  await writeFiles(join(base, "pdf"), source);
  if (action !== "install") await made.install(join(base, "pdf"), { scope });
  if (action === "update") {
    await rm(join(base, "pdf/old.md"));
    await writeFiles(join(base, "pdf"), { "SKILL.md": skillPage("pdf", "two"), "new.md": "y" });
  }
  return { base, root, home, setUp: made };
}

async function installerOf({ base }: Ground, at: Checkpoint): Promise<SkillInstaller> {
  return (await setUp("http://127.0.0.1:9", { at }, base)).installer;
}

async function perform(there: Ground, action: Action, scope: SkillScope, at: Checkpoint = () => {}): Promise<unknown> {
  const installer = await installerOf(there, at);
  if (action === "remove") return installer.remove("pdf", { scope, force: false });
  const request = { name: null, scope, force: false, askFirst: false, accept: null, override: [] };
  return installer.install({ ...request, source: join(there.base, "pdf") }, signal);
}

/** The skills and the lockfile. */
async function stateOf({ root, home }: Ground, scope: SkillScope): Promise<unknown> {
  const folder = join(scope === "project" ? root : home, ".aegis");
  const files = await readdir(join(folder, "skills"), { recursive: true }).catch(() => []);
  const page = await readFile(join(folder, "skills/pdf/SKILL.md"), "utf8").catch(() => null);
  const lock = await readFile(join(folder, "packages.lock"), "utf8").catch(() => null);
  return { files: files.sort(), page, hash: lock === null ? null : JSON.parse(lock).skills.pdf?.hash };
}

async function placeOf({ base }: Ground, scope: SkillScope) {
  return (await setUp("http://127.0.0.1:9", {}, base)).places[scope];
}

describe.each(actions)("%s for the %s", (action, scope) => {
  test("a fault at any step leaves everything as it was, and the next attempt succeeds", async () => {
    const there = await ground(action, scope);
    const before = await stateOf(there, scope);
    for (let failed = 0; ; failed++) {
      let [left, at] = [failed, "sealed"];
      const failing = (step: string) => {
        if (step === "sealed" || left-- > 0) return;
        at = step;
        throw new Error(`no luck at ${step}`);
      };
      const problem = await perform(there, action, scope, failing).then(
        () => null,
        (error: Error) => error.message,
      );
      if (at === "sealed") {
        expect(problem).toBeNull();
        expect(failed).toBeGreaterThan(3);
        break;
      }
      expect(problem).toBe(`no luck at ${at}`);
      expect(await stateOf(there, scope), `after a fault at ${at}`).toEqual(before);
      expect(await hasLeftovers(await placeOf(there, scope))).toBe(false);
    }
    expect(await stateOf(there, scope)).not.toEqual(before);
  });

  test("a kill at any step is finished or taken back by the next process", async () => {
    const there = await ground(action, scope);
    const before = await stateOf(there, scope);
    const steps: { name: string; copy: string }[] = [];
    const at = async (name: string) => {
      const copy = join(there.base, `copy-${steps.length}`);
      for (const folder of ["project", "home"])
        await cp(join(there.base, folder), join(copy, folder), {
          recursive: true,
          filter: (file) => !/config\.\d+\.lock$/.test(file),
        });
      steps.push({ name, copy });
    };
    await perform(there, action, scope, at);
    const after = await stateOf(there, scope);
    expect(after).not.toEqual(before);
    const decided = steps.findIndex(({ name }) => name === "decide") + 1;
    for (const [index, { name, copy }] of steps.entries()) {
      for (const folder of ["project", "home"]) {
        await rm(join(there.base, folder), { recursive: true });
        await cp(join(copy, folder), join(there.base, folder), { recursive: true });
      }
      const told = await settleInstalls(await placeOf(there, scope));
      const what = action === "remove" ? "uninstall" : action;
      const finished = [`finished the ${what} of skill "pdf", which was interrupted`];
      expect(told, `killed at ${name}`).toEqual(index < decided ? [] : finished);
      expect(await stateOf(there, scope), `recovered from ${name}`).toEqual(index < decided ? before : after);
      expect(await hasLeftovers(await placeOf(there, scope))).toBe(false);
    }
  });
});

test.each(["staged", "done"])("a process that is killed at the step '%s' does not delay the next one", async (step) => {
  const there = await ground("update", "project");
  const before = await stateOf(there, "project");
  const argv = [fixture, there.base, step];
  const ended = await run(process.execPath, argv, { env: { PATH: process.env.PATH } }).catch((error) => error);
  expect(ended.signal, ended.stderr).toBe("SIGKILL");
  await there.setUp.installer.recover();
  if (step === "staged") expect(await stateOf(there, "project")).toEqual(before);
  else expect(await stateOf(there, "project")).not.toEqual(before);
  expect(await hasLeftovers(await placeOf(there, "project"))).toBe(false);
});

test("what a living process prepares is left alone", async () => {
  const { base, root, install } = await setUp("http://127.0.0.1:9");
  await writeFiles(base, { "a/SKILL.md": skillPage("a") });
  const { skill } = await install(join(base, "a"), { askFirst: true });
  const other = await setUp("http://127.0.0.1:9", {}, base);
  await other.installer.recover();
  await writeFiles(base, { "b/SKILL.md": skillPage("b") });
  await other.install(join(base, "b"));
  expect(await readdir(join(root, ".aegis/state/installs"))).toHaveLength(1);
  expect((await install(join(base, "a"), { askFirst: true, accept: skill.hash })).outcome).toBe("installed");
});

test("a journal that the user did not sign moves nothing", async () => {
  const there = await ground("install", "project");
  const dir = join(there.root, ".aegis/state/installs/000000000000");
  const step = { target: "planted", slot: "folder-0", replaces: false, brings: true };
  const journal = { skill: "pdf", action: "install", folders: [step], files: [], made: [], trust: null, proof: "x" };
  await writeFiles(dir, { "folder-0.new/SKILL.md": "planted", "journal.json": JSON.stringify(journal) });
  expect(await settleInstalls(await placeOf(there, "project"))).toEqual([
    `an install in ${dir}.refused was not carried out: your key did not sign it`,
  ]);
  expect(await readdir(there.root)).not.toContain("planted");
});

describe("a stage of version 0.1", () => {
  const stage = ".aegis/state/staging/skills/999999999-00000000-000000000000";

  test("gives back the skill that it had moved away", async () => {
    const { root, installer } = await setUp("http://127.0.0.1:9");
    await writeFiles(join(root, stage), { "old/SKILL.md": "mine", "change.json": '{"folder":"pdf","entry":null}' });
    await writeFiles(root, { ".aegis/skills/other/SKILL.md": "x" });
    await installer.recover();
    expect(await readFile(join(root, ".aegis/skills/pdf/SKILL.md"), "utf8")).toBe("mine");
    expect(await readdir(join(root, ".aegis/state/staging"))).toEqual([]);
  });

  test.each(["../../planted", "..", "a/b", "/tmp/planted", "a\\b"])("moves nothing to %j", async (folder) => {
    const { root, installer } = await setUp("http://127.0.0.1:9");
    await writeFiles(join(root, stage), { "old/SKILL.md": "planted" });
    await writeFile(join(root, stage, "change.json"), JSON.stringify({ folder, entry: null }));
    await installer.recover();
    expect(await readdir(root)).toEqual([".aegis"]);
    expect((await readdir(join(root, ".aegis"))).sort()).toEqual(["state"]);
    expect(await readdir(join(root, ".aegis/state/staging"))).toEqual([]);
  });
});
