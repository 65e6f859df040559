/** The loaders under comparison: ours, OpenClaw's, and that of the format's own reference library. */
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { SkillLibrary } from "@aegis/skills/library.ts";

export type LoadedSkill = { folder: string; description: string };

export type Loader = {
  name: string;
  /** Everything below `<workspace>/skills`. */
  load(workspace: string): Promise<LoadedSkill[]>;
};

export async function loaders(): Promise<Loader[]> {
  return [ours, await openClaw(), await reference()];
}

const ours: Loader = {
  name: "Aegis",
  async load(workspace) {
    const root = { source: "project", folder: join(workspace, "skills"), flat: false, headerless: false } as const;
    const library = new SkillLibrary({ roots: () => ({ above: [root], below: [] }), now: Date.now });
    const { skills } = await library.refresh(new AbortController().signal);
    return skills.map(({ folder, description }) => ({ folder: folder ?? "", description }));
  },
};

type OpenClawLoad = (
  workspace: string,
  options: Record<string, unknown>,
) => { skill: { description: string; baseDir: string } }[];

/** Its loader is not among the package's exports; the file that holds it is found by its name. */
async function openClaw(): Promise<Loader> {
  const dist = fileURLToPath(new URL("node_modules/openclaw/dist/", import.meta.url));
  const file = (await readdir(dist)).find((name) => /^workspace-skill-loader-.*\.mjs$/.test(name));
  if (file === undefined) throw new Error(`no loader of skills in ${dist}`);
  const module = (await import(join(dist, file))) as Record<string, { name?: string }>;
  const load = Object.values(module).find((value) => value.name === "loadWorkspaceSkills") as unknown as OpenClawLoad;
  const limits = { maxCandidatesPerRoot: 20_000, maxSkillsLoadedPerSource: 20_000 };
  return {
    name: "OpenClaw 2026.9.6",
    async load(workspace) {
      const nowhere = join(workspace, "nowhere");
      const places = { managedSkillsDir: nowhere, bundledSkillsDir: nowhere, pluginSkillsDir: nowhere };
      const entries = load(workspace, { config: { skills: { limits } }, ...places });
      return entries.map(({ skill }) => ({ folder: skill.baseDir, description: skill.description }));
    },
  };
}

type Properties = { description: string };

/** It reads one skill at a time, so the folders are listed for it. */
async function reference(): Promise<Loader> {
  const name = "skills-ref";
  const { readProperties } = (await import(name)) as { readProperties(folder: string): Promise<Properties> };
  return {
    name: "skills-ref 0.1.5",
    async load(workspace) {
      const root = join(workspace, "skills");
      const loaded: LoadedSkill[] = [];
      for (const entry of await readdir(root)) {
        const folder = join(root, entry);
        const found = await readProperties(folder).catch(() => null);
        if (found !== null) loaded.push({ folder, description: found.description });
      }
      return loaded;
    },
  };
}
