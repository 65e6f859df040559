import { z } from "zod";
import { LeftOut, projectFiles, projectTexts } from "./project-files.ts";
import { cutList, defineProjectTool, plural, toolOutput } from "./project-tool.ts";

const maxShown = 100;

export const countTodos = defineProjectTool({
  name: "count_todos",
  kind: "search",
  writes: false,
  input: z.strictObject({}),
  title: () => "Count TODOs",
  async run(_, { root, signal }) {
    const files = await projectFiles(root, signal);
    const leftOut = new LeftOut(files);
    const counts: { path: string; count: number }[] = [];
    for await (const { path, lines } of projectTexts(root, files, leftOut, signal)) {
      const count = lines.reduce((sum, line) => sum + (line.match(/\bTODO\b/g)?.length ?? 0), 0);
      if (count > 0) counts.push({ path, count });
    }
    counts.sort((a, b) => b.count - a.count || (a.path < b.path ? -1 : 1));
    const total = counts.reduce((sum, { count }) => sum + count, 0);
    // In lower case, so that a report of this result is not counted the next time.
    const heading = `${plural(total, "todo")} in ${plural(counts.length, "file")}`;
    const rows = counts.map(({ path, count }) => `- ${path}: ${count}`);
    return toolOutput([cutList(heading, rows, maxShown), ...leftOut.lines()].join("\n"));
  },
});
