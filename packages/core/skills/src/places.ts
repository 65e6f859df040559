/** The skill folders in order of precedence. */
import { isAbsolute, join, resolve } from "node:path";
import type { SkillSource } from "@aegis/contract/skill.ts";

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
  return {
    above: [
      at("project", join(root, "skills")),
      at("agents", join(root, ".agents", "skills")),
      at("aegis", join(root, ".aegis", "skills"), { flat: true }),
      at("claude", join(root, ".claude", "skills"), { headerless: true }),
      at("user", join(home, ".aegis", "skills"), { flat: true }),
      at("user-agents", join(home, ".agents", "skills")),
      at("user-claude", join(home, ".claude", "skills"), { headerless: true }),
    ],
    // Plugin skills rank between the two lists.
    below: [at("bundled", bundled), ...dirs.map((dir) => at("configured", fromHome(dir, root, home), { flat: true }))],
  };
}

function fromHome(dir: string, root: string, home: string): string {
  if (dir === "~" || dir.startsWith("~/")) return join(home, dir.slice(1));
  return isAbsolute(dir) ? dir : resolve(root, dir);
}
