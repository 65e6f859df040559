/** From what a plugin brings to a skill. */
import { basename } from "node:path";
import { writeFrontmatter } from "../../lib/frontmatter.ts";
import type { PluginSkill } from "../plugins/contribute.ts";
import { parsePage } from "./page.ts";
import { type ParsedSkill, parseSkill } from "./parse.ts";

/** Never throws: what is wrong with it is in the diagnostics. */
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
