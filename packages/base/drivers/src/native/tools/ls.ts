/** Lists a folder of the project. */
import { lstat, readdir } from "node:fs/promises";
import { join } from "node:path";
import { isErrno } from "@aegis/lib/files.ts";
import { z } from "zod";
import { missing, projectPath } from "./paths.ts";
import { defineTool, done, type Tool, ToolError } from "./tool.ts";

const mostEntries = 500;

export function lsTool(): Tool {
  return defineTool({
    name: "ls",
    description: "List a folder: folders end in /, files have their size.",
    kind: "read",
    effect: "read",
    input: z.object({ path: z.string().optional().describe("The project folder by default") }),
    title: ({ path = "." }) => `List ${path}`,
    locations: ({ path }) => (path === undefined ? [] : [{ path }]),
    async run({ path = "." }, context) {
      const folder = await projectPath(context.cwd, path);
      const entries = await readdir(folder.real, { withFileTypes: true }).catch(async (error) => {
        if (isErrno(error, "ENOTDIR")) throw new ToolError(`${folder.shown} is a file. Use read.`);
        throw isErrno(error, "ENOENT") ? await missing(folder) : error;
      });
      entries.sort((a, b) => (a.name < b.name ? -1 : 1));
      const rows: string[] = [];
      for (const entry of entries.slice(0, mostEntries)) {
        context.signal.throwIfAborted();
        if (entry.isDirectory()) rows.push(`${entry.name}/`);
        else if (entry.isSymbolicLink()) rows.push(`${entry.name} (link)`);
        else rows.push(`${entry.name} ${await size(join(folder.real, entry.name))}`);
      }
      if (entries.length > mostEntries) rows.push(`[cut: ${entries.length - mostEntries} more entries]`);
      return done(rows.length === 0 ? "(empty)" : rows.join("\n"));
    },
  });
}

async function size(path: string): Promise<string> {
  const info = await lstat(path).catch(() => null);
  return info === null ? "" : `${info.size} B`;
}
