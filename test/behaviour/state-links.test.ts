// @module-tag slow
/** Links in the place of the state, or in it: nothing outside of the project is made, written or chmodded. */
import { chmod, mkdir, readdir, readFile, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { type AegisProject, aegisProject } from "../helpers/aegis.ts";
import { done } from "../helpers/projects/stranger.ts";
import { tempDir } from "../helpers/temp-dir.ts";

async function outside(): Promise<{ dir: string; expectUntouched(): Promise<void> }> {
  const dir = await tempDir();
  await writeFile(join(dir, "mine.txt"), "mine\n");
  await chmod(dir, 0o755);
  return {
    dir,
    async expectUntouched() {
      expect(await readdir(dir)).toEqual(["mine.txt"]);
      expect(await readFile(join(dir, "mine.txt"), "utf8")).toBe("mine\n");
      expect((await stat(dir)).mode & 0o777).toBe(0o755);
    },
  };
}

const commands = [
  ["up"],
  ["serve"],
  ["config", "set", "server.port", "0"],
  ["agent", "new", "mine", "--description", "does things", "--prompt", "do them"],
];

async function expectRefused(at: AegisProject, ...command: string[]): Promise<void> {
  const { code, stderr } = await at.aegis(...command);
  expect({ command, ok: code === 0 }).toEqual({ command, ok: false });
  expect(stderr).toMatch(/link|leads out/);
  expect(await at.daemonPid()).toBeNull();
}

it.each([".aegis", ".aegis/state"])("%s that leads out of the project is refused", async (place) => {
  for (const target of ["", "not/there"]) {
    const at = await aegisProject();
    const other = await outside();
    if (place !== ".aegis") await mkdir(join(at.root, ".aegis"));
    await symlink(join(other.dir, target), join(at.root, place));
    for (const command of commands) await expectRefused(at, ...command);
    await other.expectUntouched();
  }
});

it.each(["aegis.db", "lock.db", "daemon.log", "processes.jsonl", "sessions", ".gitignore", "owner.json"])(
  ".aegis/state/%s that is a link is refused",
  async (name) => {
    const at = await aegisProject();
    const other = await outside();
    const state = join(at.root, ".aegis/state");
    await mkdir(state, { recursive: true });
    await symlink(name === "sessions" ? other.dir : join(other.dir, "made-by-aegis"), join(state, name));
    const { code, stderr } = await at.aegis("up");
    expect(code).toBe(3);
    expect(stderr).toMatch(/is a link|not known to be yours/);
    await other.expectUntouched();
    await done(at, "state", "set-aside");
    await done(at, "up");
    await other.expectUntouched();
  },
);

it("a link below a folder of the state is refused as well", async () => {
  const at = await aegisProject();
  const other = await outside();
  await done(at, "run", "hello");
  await done(at, "down");
  await symlink(join(other.dir, "mine.txt"), join(at.root, ".aegis/state/sessions/ses_x.jsonl"));
  expect((await at.aegis("up")).stderr).toContain("ses_x.jsonl is a link");
  await other.expectUntouched();
});

it("a link to another folder of the project is no way around: .aegis may be one, .aegis/state may not", async () => {
  const at = await aegisProject();
  await mkdir(join(at.root, "tools/aegis"), { recursive: true });
  await symlink("tools/aegis", join(at.root, ".aegis"));
  await done(at, "up");
  await done(at, "down");
  const other = await aegisProject();
  await mkdir(join(other.root, ".aegis"));
  await mkdir(join(other.root, "data"));
  await symlink("../data", join(other.root, ".aegis/state"));
  await expectRefused(other, "up");
  expect(await readdir(join(other.root, "data"))).toEqual([]);
});
