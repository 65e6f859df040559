/** An installer in folders of its own. */
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Clock } from "@aegis/lib/clock.ts";
import { systemClock } from "@aegis/lib/clock.ts";
import { silentLogger } from "@aegis/lib/log.ts";
import { openUserKey } from "@aegis/lib/user-key.ts";
import { projectPlace, userPlace } from "@aegis/project/packages/places.ts";
import { buildTrust } from "@aegis/project/trust/project-trust.ts";
import { testProcesses } from "@aegis/test/helpers/git-repo.ts";
import { tempDir } from "@aegis/test/helpers/temp-dir.ts";
import {
  type InstallerOptions,
  type InstallRequest,
  type SkillChange,
  SkillInstaller,
} from "../../src/skill/installer.ts";
import { defaultGithubUrl } from "../../src/source.ts";

export type SetUp = {
  base: string;
  root: string;
  home: string;
  places: InstallerOptions["places"];
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

/** `base` is the folder of an earlier one, to continue there. */
export async function setUp(
  registry: string,
  more: Partial<InstallerOptions> = {},
  base: string | null = null,
): Promise<SetUp> {
  return setUpIn(base ?? (await tempDir()), registry, more);
}

async function setUpIn(base: string, registry: string, more: Partial<InstallerOptions>): Promise<SetUp> {
  const [root, home] = [join(base, "project"), join(base, "home")];
  await mkdir(join(root, ".aegis", "state"), { recursive: true });
  await mkdir(home, { recursive: true });
  const places = await placesOf(root, home);
  const changes: SkillChange[] = [];
  const installer = new SkillInstaller({
    root,
    places,
    home,
    githubUrl: defaultGithubUrl,
    log: silentLogger,
    clock: systemClock,
    processes: more.processes ?? (await testProcesses()),
    env: { PATH: process.env.PATH },
    changed: async (change) => void changes.push(change),
    registry: () => registry,
    token: () => null,
    ...more,
  });
  const { signal } = new AbortController();
  const install: SetUp["install"] = (source, request = {}) =>
    installer.install(
      { source, name: null, scope: "project", force: false, askFirst: false, accept: null, override: [], ...request },
      signal,
    );
  return { base, root, home, places, installer, install, changes };
}

export async function placesOf(root: string, home: string): Promise<InstallerOptions["places"]> {
  const key = await openUserKey(home);
  return { project: projectPlace(await buildTrust(root, { HOME: home }), key), user: await userPlace(home, key) };
}

export async function writeFiles(folder: string, files: Record<string, string>): Promise<void> {
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), text);
  }
}
