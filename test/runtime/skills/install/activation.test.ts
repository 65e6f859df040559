import { execFile } from "node:child_process";
import { cp, readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { systemClock } from "../../../../src/lib/clock.ts";
import {
  holding,
  type InstallPlace,
  installPlaces,
  makeStage,
  putInPlace,
  realDisk,
  stagedTree,
  takeAway,
} from "../../../../src/runtime/skills/install/activation.ts";
import { readLock } from "../../../../src/runtime/skills/install/lockfile.ts";
import { tempDir } from "../../../helpers/temp-dir.ts";
import { writeFiles } from "./set-up.ts";

const child = fileURLToPath(new URL("activation-child.ts", import.meta.url));
const run = promisify(execFile);

const entry = { name: "pdf", source: "x", version: null, commit: null, hash: "two", installed_at: "now" };

type Ground = { root: string; place: InstallPlace };

async function ground(): Promise<Ground> {
  const root = await tempDir();
  await writeFiles(root, { "v1/SKILL.md": "one", "v1/old.md": "x", "v2/SKILL.md": "two", "v2/new.md": "y" });
  return { root, place: installPlaces(root, join(root, ".aegis/state"), join(root, "home")).project };
}

/** False when it was killed. */
async function change({ root }: Ground, action: string, version: string, dieAt: number): Promise<boolean> {
  const args = [child, root, action, join(root, version), String(dieAt), join(root, "steps")];
  return run(process.execPath, args).then(
    () => true,
    (error: { signal?: string }) => {
      if (error.signal !== "SIGKILL") throw error;
      return false;
    },
  );
}

/** The same in this process, to its end. */
async function changeHere({ root, place }: Ground, action: string, version: string): Promise<void> {
  if (action === "remove") return takeAway(place, "pdf");
  const stage = await makeStage(place);
  await cp(join(root, version), stagedTree(stage), { recursive: true });
  await putInPlace(place, stage, "pdf", { ...entry, hash: action });
}

/** The next one to use the place, whoever it is. */
async function comeBack({ place }: Ground): Promise<void> {
  await holding(place, async () => {}, { clock: systemClock, signal: new AbortController().signal });
}

/** What is there as one word: the files and the lockfile must say the same. */
async function stateOf({ place }: Ground): Promise<string> {
  const files = await readdir(join(place.skills, "pdf")).catch(() => []);
  const page = await readFile(join(place.skills, "pdf/SKILL.md"), "utf8").catch(() => "nothing");
  const entry = (await readLock(place.lock)).get("pdf");
  const left = (await readdir(place.staging)).filter((name) => !name.startsWith("lock.db"));
  const state = { files: files.sort(), page, hash: entry?.hash ?? null, left };
  for (const [name, expected] of Object.entries(states)) {
    if (JSON.stringify(state) === JSON.stringify({ ...expected, left: [] })) return name;
  }
  return JSON.stringify(state);
}

const states = {
  nothing: { files: [], page: "nothing", hash: null },
  one: { files: ["SKILL.md", "old.md"], page: "one", hash: "one" },
  two: { files: ["SKILL.md", "new.md"], page: "two", hash: "two" },
};

describe("a kill before each step leaves the old or the new, whole and written down", () => {
  test.each([
    ["installing", null, "one", "v1", ["nothing", "one", "one", "one"]],
    ["updating", "v1", "two", "v2", ["one", "one", "two", "two", "two"]],
    ["removing", "v1", "remove", "v1", ["one", "one", "nothing", "nothing"]],
  ])("%s", async (_, before, action, version, expected) => {
    const seen: string[] = [];
    for (let dieAt = 0; ; dieAt++) {
      const there = await ground();
      if (before !== null) await changeHere(there, "one", before);
      if (await change(there, action, version, dieAt)) break;
      await comeBack(there);
      seen.push(await stateOf(there));
      // It can be done again as if nothing had happened.
      await changeHere(there, action, version);
      expect(await stateOf(there)).toBe(action === "remove" ? "nothing" : action);
      await rm(there.root, { recursive: true });
    }
    expect(seen).toEqual(expected);
  });
});

test.each(["v1", null])("a change that cannot be written down is undone, over %s", async (before) => {
  const there = await ground();
  if (before !== null) await changeHere(there, "one", before);
  const disk = { ...realDisk, writeLock: () => Promise.reject(new Error("disk full")) };
  const stage = await makeStage(there.place);
  await cp(join(there.root, "v2"), stagedTree(stage), { recursive: true });
  await expect(putInPlace(there.place, stage, "pdf", entry, disk)).rejects.toThrow("disk full");
  await rm(stage, { recursive: true });
  expect(await stateOf(there)).toBe(before === null ? "nothing" : "one");
  await expect(takeAway(there.place, "pdf", disk)).rejects.toThrow("disk full");
  expect(await stateOf(there)).toBe(before === null ? "nothing" : "one");
});

test("what a process that still lives prepares is left alone", async () => {
  const there = await ground();
  const stage = await makeStage(there.place);
  await comeBack(there);
  expect(await readdir(there.place.staging)).toContain(stage.split("/").at(-1));
});
