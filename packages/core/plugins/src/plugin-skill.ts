/** Converts a plugin's contribution to a skill. */
import { basename } from "node:path";
import { writeFrontmatter } from "@aegis/lib/frontmatter.ts";
import { Slices } from "@aegis/lib/slices.ts";
import { parsePage } from "@aegis/skills/page.ts";
import { type ParsedSkill, parseSkill } from "@aegis/skills/parse.ts";
import type { SkillRoot } from "@aegis/skills/places.ts";
import { scanLimits, scanRoots } from "@aegis/skills/scan.ts";
import type { PluginSkill } from "./contribute.ts";
import type { FindSkills } from "./files.ts";

/** Single pages are skills too, and headers are optional. */
export const findPluginSkills: FindSkills = (folders, most) => {
  const roots = folders.map((folder): SkillRoot => ({ source: "plugin", folder, flat: true, headerless: true }));
  // The limits bound its time.
  return scanRoots(roots, { ...scanLimits, pages: most }, new Slices(), new AbortController().signal);
};

/** Never throws: problems become diagnostics. */
export function parsePluginSkill(brought: PluginSkill): ParsedSkill {
  const { plugin } = brought;
  const source = "plugin";
  if ("content" in brought) {
    const { name, description, content } = brought;
    const origin = { source, plugin, file: null, folder: null, text: content } as const;
    const text = writeFrontmatter({ name, description }, content);
    return parseSkill(text, { ...origin, fallbackName: name, headerless: false });
  }
  const { file } = brought;
  const folder = /^skills?\.md$/i.test(basename(file)) ? brought.folder : null;
  return parsePage({ source, plugin, file, folder, headerless: true });
}
