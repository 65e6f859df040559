import { z } from "zod";
import { LeftOut, projectFiles, projectTexts } from "./project-files.ts";
import { cutList, defineProjectTool, plural, toolOutput } from "./project-tool.ts";

const maxShown = 100;
const maxLineLength = 200;

/** Searches for plain words: a regular expression from a message could block the daemon forever. */
export const grep = defineProjectTool({
  name: "grep",
  kind: "search",
  writes: false,
  input: z.strictObject({ pattern: z.string().min(1) }),
  title: ({ pattern }) => `Search for ${pattern}`,
  async run({ pattern }, { root, signal }) {
    const words = pattern.toLowerCase();
    const files = await projectFiles(root, signal);
    const leftOut = new LeftOut(files);
    const matches: string[] = [];
    let filesWithMatch = 0;
    for await (const { path, lines } of projectTexts(root, files, leftOut, signal)) {
      const before = matches.length;
      for (const [index, line] of lines.entries()) {
        if (!line.toLowerCase().includes(words)) continue;
        matches.push(`${path}:${index + 1}: ${line.trim().slice(0, maxLineLength)}`);
      }
      if (matches.length > before) filesWithMatch += 1;
    }
    const heading = `${plural(matches.length, "match", "matches")} in ${plural(filesWithMatch, "file")}`;
    return toolOutput([cutList(heading, matches, maxShown), ...leftOut.lines()].join("\n"));
  },
});
