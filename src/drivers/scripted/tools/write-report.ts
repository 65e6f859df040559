import { mkdir } from "node:fs/promises";
import { dirname, extname } from "node:path";
import { z } from "zod";
import { projectPath, readText } from "./project-files.ts";
import { defineProjectTool, toolError } from "./project-tool.ts";

/** A wrong rule must not overwrite code. */
const extensions = [".md", ".txt"];

export const writeReport = defineProjectTool({
  name: "write_report",
  kind: "edit",
  writes: true,
  input: z.strictObject({ path: z.string().min(1), text: z.string() }),
  title: ({ path }) => `Write ${path}`,
  path: ({ path }) => path,
  changes: ({ path, text }) => [{ path, after: text }],
  async run({ path, text }, { root, writeFile }) {
    if (!extensions.includes(extname(path))) return toolError(`${path}: a report ends in ${extensions.join(" or ")}`);
    const place = await projectPath(root, path);
    if ("problem" in place) return toolError(place.problem);
    const before = await readText(place.real);
    await mkdir(dirname(place.real), { recursive: true });
    await writeFile(place.real, text);
    return {
      output: `wrote ${path}`,
      is_error: false,
      diff: { path, before: typeof before === "string" ? before : null, after: text },
    };
  },
});
