/**
 * Creates the plugin installer of a project for CLI commands. It needs no daemon; a running daemon notices the changes.
 */

import { mkdir } from "node:fs/promises";
import { isAbsolute, join, relative, sep } from "node:path";
import { AegisError } from "@aegis/contract/errors.ts";
import type { TakenNames } from "@aegis/contract/plugin.ts";
import type { FilePlan } from "@aegis/installer/file-plan.ts";
import type { Checkpoint } from "@aegis/installer/journal.ts";
import type { ProjectConfig } from "@aegis/installer/plugin/additions.ts";
import { PluginInstaller } from "@aegis/installer/plugin/installer.ts";
import type { InstallerPerson } from "@aegis/installer/plugin/transaction.ts";
import { defaultGithubUrl } from "@aegis/installer/source.ts";
import { bundledPluginsDir } from "@aegis/lib/assets.ts";
import type { Environment } from "@aegis/lib/child-env.ts";
import { systemClock } from "@aegis/lib/clock.ts";
import { configFileName } from "@aegis/lib/daemon-file.ts";
import { isInside } from "@aegis/lib/files.ts";
import { homeOf } from "@aegis/lib/home.ts";
import { silentLogger } from "@aegis/lib/log.ts";
import { createProcesses } from "@aegis/lib/process.ts";
import type { TreeLimits } from "@aegis/lib/tree-rules.ts";
import { packageVersion } from "@aegis/lib/version.ts";
import { scheduleFile } from "../config/changes.ts";
import { combine, readPath } from "../config/combine.ts";
import { type EditOptions, previewEdit } from "../config/edit.ts";
import { type ConfigFiles, diskFiles, readSources } from "../config/files.ts";
import { loadProject } from "../config/load.ts";
import { removePath, setPath } from "../config/paths.ts";
import { formatProblem } from "../config/problem.ts";
import type { KnownNames } from "../config/references.ts";
import { declaredSecrets } from "../config/secret-settings.ts";
import { publicConfig } from "../config/show.ts";
import { claimState } from "../state/hold.ts";
import { requireKey } from "../state/judge.ts";
import { buildTrust } from "../trust/project-trust.ts";
import { alone, projectPlace } from "./places.ts";
import { tryStaged } from "./try-staged.ts";

export type InstallerSetup = {
  root: string;
  env: Environment;
  harnesses: readonly string[];
  person: InstallerPerson;
  signal: AbortSignal;
  /** The names that the plugins of a running daemon provide. */
  taken?: () => Promise<readonly TakenNames[]>;
  /** Lower limits and stop points, for tests. */
  limits?: Partial<TreeLimits>;
  at?: Checkpoint;
  scriptTimeoutMs?: number;
};

export async function createInstaller(setup: InstallerSetup): Promise<PluginInstaller> {
  const { env, harnesses, person, signal, limits, at, scriptTimeoutMs } = setup;
  const trust = await buildTrust(setup.root, env);
  const { root } = trust;
  const home = homeOf(env);
  await claimState({ root, home, clock: systemClock });
  const place = projectPlace(trust, await requireKey(home));
  const { installs } = place;
  await mkdir(installs, { recursive: true, mode: 0o700 });
  const processes = createProcesses({
    ledgerFile: join(installs, "processes.jsonl"),
    // Not the daemon's owner key: a daemon that starts in the meantime must not treat the script as its own leftover.
    owner: installs,
    clock: systemClock,
    log: silentLogger,
  });
  const config = createProjectConfig({ harnesses });
  return new PluginInstaller({
    place,
    home,
    aegisVersion: packageVersion(),
    processes,
    clock: systemClock,
    env,
    signal,
    // Read from the environment only: a project file must not decide where `gh:` leads.
    githubUrl: env.AEGIS_GITHUB_URL ?? defaultGithubUrl,
    bundledDir: bundledPluginsDir(),
    config,
    person,
    trust: trust.trust,
    alone: (work) =>
      alone(place, async () => {
        await processes.sweep();
        return work();
      }),
    tryLoading: (staged) => tryStaged(staged, { root, env, config, taken: setup.taken }),
    dataDir: (plugin) => join(".aegis", "state", "plugins", plugin),
    ...(limits === undefined ? {} : { limits }),
    ...(at === undefined ? {} : { at }),
    ...(scriptTimeoutMs === undefined ? {} : { scriptTimeoutMs }),
  });
}

/** The configuration as the install plan will leave it. Validates the complete configuration each time. */
function createProjectConfig(known: KnownNames): ProjectConfig {
  const edit = async (plan: FilePlan, file: string, change: EditOptions["change"]) =>
    plan.write(file, await previewEdit({ ...known, root: plan.root, file, change, files: filesOf(plan) }));
  return {
    async read(plan, path) {
      const sources = await readSources(plan.root, filesOf(plan));
      return readPath(combine(sources).value, path);
    },
    async readMain(plan, path) {
      const { main } = await readSources(plan.root, filesOf(plan));
      return readPath(main?.value, path);
    },
    set: (plan, path, value) => edit(plan, configFileName, (document) => setPath(document, path, value)),
    async remove(plan, path) {
      const before = await plan.read(configFileName);
      await edit(plan, configFileName, (document) => void removePath(document, path));
      await plan.write(configFileName, withoutGap(before, await plan.read(configFileName)));
    },
    async addSchedule(plan, name, entry) {
      const file = schedulePath(name);
      await edit(plan, file, (document) => setPath(document, [], entry));
      return file;
    },
    schedulePath,
    async check(plan) {
      const { problems } = await loadProject(plan.root, known, filesOf(plan));
      if (problems.length === 0) return;
      const lines = problems.map((problem) => `  ${formatProblem(problem)}`).join("\n");
      throw new AegisError("invalid", `the configuration would be wrong:\n${lines}`, { details: { problems } });
    },
    async describe(plan) {
      const { config } = await loadProject(plan.root, known, filesOf(plan));
      if (config === null) return {};
      return { ...publicConfig(config, await declaredSecrets({ root: plan.root, env: {} }, config)) };
    },
  };
}

function schedulePath(name: string): string {
  if (name.includes("/") || name.includes(sep) || name.startsWith("."))
    throw new AegisError("invalid", `"${name}" is not a valid schedule name`);
  return scheduleFile(name);
}

/** Removes the empty line before a section together with a section at the end of the file. */
function withoutGap(before: Uint8Array | null, after: Uint8Array | null): Uint8Array | null {
  const gap = /(\r?\n)(?:\r?\n)+$/;
  if (before === null || after === null || gap.test(Buffer.from(before).toString("utf8"))) return after;
  return Buffer.from(Buffer.from(after).toString("utf8").replace(gap, "$1"));
}

/** The files as the plan will leave them. */
function filesOf(plan: FilePlan): ConfigFiles {
  const inside = (path: string) => {
    const below = relative(plan.root, path);
    return isInside(plan.root, path) && !isAbsolute(below) ? below : null;
  };
  return {
    async read(path) {
      const below = inside(path);
      const planned = below === null ? undefined : await plan.planned(below).catch(() => undefined);
      if (planned === undefined) return diskFiles.read(path);
      if (planned !== null) return planned;
      throw Object.assign(new Error(`no file ${path}`), { code: "ENOENT" });
    },
    async list(folder) {
      const names = await diskFiles.list(folder);
      const below = inside(folder);
      if (below === null) return names;
      const { added, removed } = plan.namesIn(below);
      return [...names.filter((name) => !removed.includes(name)), ...added];
    },
  };
}
