/**
 * Reads and edits the project's configuration for the installer as the install plan will leave it. Validates the
 * complete configuration each time.
 */
import { isAbsolute, relative, sep } from "node:path";
import { AegisError } from "../../contract/errors.ts";
import { configFileName } from "../../lib/daemon-file.ts";
import { isInside } from "../../lib/files.ts";
import type { FilePlan } from "../../packages/file-plan.ts";
import type { ProjectConfig } from "../../packages/plugin/additions.ts";
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

export function createProjectConfig(known: KnownNames): ProjectConfig {
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
    throw new AegisError("invalid", `"${name}" is no name for a schedule`);
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
