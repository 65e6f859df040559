/** An installer in folders of its own. */
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Clock } from "../../../../src/lib/clock.ts";
import { systemClock } from "../../../../src/lib/clock.ts";
import { silentLogger } from "../../../../src/lib/log.ts";
import {
  type InstallerOptions,
  type InstallRequest,
  type SkillChange,
  SkillInstaller,
} from "../../../../src/runtime/skills/install/installer.ts";
import { testProcesses } from "../../../helpers/git-repo.ts";
import { tempDir } from "../../../helpers/temp-dir.ts";

export type SetUp = {
  base: string;
  root: string;
  home: string;
  installer: SkillInstaller;
  /** What it told of. */
  changes: SkillChange[];
  install(source: string, more?: Partial<InstallRequest>): ReturnType<SkillInstaller["install"]>;
};

/** A clock whose pauses are over at once, and are remembered. */
export function hastyClock(): Clock & { pauses: number[] } {
  const pauses: number[] = [];
  const sleep = async (ms: number) => void pauses.push(ms);
  return { pauses, now: () => Date.now(), sleep };
}

export async function setUp(registry: string, more: Partial<InstallerOptions> = {}): Promise<SetUp> {
  const base = await tempDir();
  const [root, home] = [join(base, "project"), join(base, "home")];
  const stateDir = join(root, ".aegis", "state");
  await mkdir(stateDir, { recursive: true });
  await mkdir(home);
  const changes: SkillChange[] = [];
  const installer = new SkillInstaller({
    root,
    stateDir,
    home,
    log: silentLogger,
    clock: systemClock,
    processes: await testProcesses(),
    env: { PATH: process.env.PATH },
    changed: async (change) => void changes.push(change),
    registry: () => registry,
    token: () => null,
    ...more,
  });
  const { signal } = new AbortController();
  const install: SetUp["install"] = (source, request = {}) =>
    installer.install(
      { source, name: null, scope: "project", force: false, askFirst: false, accept: null, ...request },
      signal,
    );
  return { base, root, home, installer, install, changes };
}

export async function writeFiles(folder: string, files: Record<string, string>): Promise<void> {
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), text);
  }
}
