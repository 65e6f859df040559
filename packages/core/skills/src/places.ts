/** The skill folders in order of precedence. */
import { isAbsolute, join, resolve } from "node:path";
import type { SkillSource } from "@aegis/contract/skill.ts";
import { harnesses } from "@aegis/drivers/all.ts";

export type SkillRoot = {
  source: SkillSource;
  folder: string;
  /** Single pages directly in the folder are skills too. */
  flat: boolean;
  /** Pages without a header are skills too, as in Claude Code. */
  headerless: boolean;
};

export type PlaceOptions = {
  /** The project's folder. */
  root: string;
  home: string;
  /** The skills bundled with Aegis. */
  bundled: string;
  /** `skills.dirs` of the configuration: absolute, relative to the project, or starting with `~`. */
  dirs: readonly string[];
};

export function skillRoots({ root, home, bundled, dirs }: PlaceOptions): { above: SkillRoot[]; below: SkillRoot[] } {
  const at = (source: SkillSource, folder: string, more: Partial<SkillRoot> = {}): SkillRoot => ({
    source,
    folder,
    flat: false,
    headerless: false,
    ...more,
  });
  // Pages without a header are skills for the program that reads the folder too.
  const ofHarnesses = harnesses.flatMap(({ skillFolders }) => skillFolders);
  return {
    above: [
      at("project", join(root, "skills")),
      at("agents", join(root, ".agents", "skills")),
      at("aegis", join(root, ".aegis", "skills"), { flat: true }),
      ...ofHarnesses.map(({ source, folder }) => at(source, join(root, folder), { headerless: true })),
      at("user", join(home, ".aegis", "skills"), { flat: true }),
      at("user-agents", join(home, ".agents", "skills")),
      ...ofHarnesses.map(({ userSource, folder }) => at(userSource, join(home, folder), { headerless: true })),
    ],
    // Plugin skills rank between the two lists.
    below: [at("bundled", bundled), ...dirs.map((dir) => at("configured", fromHome(dir, root, home), { flat: true }))],
  };
}

function fromHome(dir: string, root: string, home: string): string {
  if (dir === "~" || dir.startsWith("~/")) return join(home, dir.slice(1));
  return isAbsolute(dir) ? dir : resolve(root, dir);
}
