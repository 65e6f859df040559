/** Finds files by a path pattern. */
import { matchesGlob } from "node:path";
import { z } from "zod";
import { projectPath } from "./paths.ts";
import { defineTool, done, type Tool } from "./tool.ts";
import { walk } from "./walk.ts";

const mostFiles = 500;

export function globTool(): Tool {
  return defineTool({
    name: "glob",
    description: "Find files by a pattern such as **/*.ts. .git and node_modules are skipped.",
    kind: "search",
    effect: "read",
    input: z.object({
      pattern: z.string().min(1),
      path: z.string().optional().describe("Folder to search, the project by default"),
    }),
    title: ({ pattern }) => `Find ${pattern}`,
    locations: ({ path }) => (path === undefined ? [] : [{ path }]),
    async run({ pattern, path = "." }, context) {
      const folder = await projectPath(context.cwd, path);
      const found: string[] = [];
      for await (const file of walk(folder.real, context.signal)) {
        if (!matchesPattern(file.relative, pattern)) continue;
        if (found.length === mostFiles) {
          found.push(`[cut at ${mostFiles} files; use a narrower pattern or path]`);
          break;
        }
        found.push(folder.shown === "." ? file.relative : `${folder.shown}/${file.relative}`);
      }
      return done(found.length === 0 ? `No file matches ${pattern} in ${folder.shown}.` : found.join("\n"));
    },
  });
}

/** A pattern without a slash matches the file name in any folder. */
export function matchesPattern(relative: string, pattern: string): boolean {
  const name = relative.slice(relative.lastIndexOf("/") + 1);
  return matchesGlob(pattern.includes("/") ? relative : name, pattern.replace(/^\.\//, ""));
}
