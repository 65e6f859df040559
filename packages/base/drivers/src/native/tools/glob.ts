/** Finds files by a path pattern, and lists the files of a project for the tools that search it. */

import { opendir } from "node:fs/promises";
import { basename, join, matchesGlob, sep } from "node:path";
import { isErrno } from "@aegis/lib/files.ts";
import { z } from "zod";
import { projectPath } from "./paths.ts";
import { defineTool, done, type Tool } from "./tool.ts";

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

const skipped: ReadonlySet<string> = new Set([".git", "node_modules", ".hg", ".svn"]);

/** Only a person may read the state of Aegis; the gate judges a search that begins there. */
const state = join(".aegis", "state");

function isSkipped(folder: string): boolean {
  return skipped.has(basename(folder)) || folder.endsWith(sep + state);
}

/** A walk ends after this many entries; more would take too long. */
const mostEntries = 200_000;

export type WalkedEntry = { path: string; relative: string };

/** Folder by folder, each sorted by name. Does not follow links, so that the walk stays inside. */
export async function* walk(root: string, signal: AbortSignal): AsyncGenerator<WalkedEntry> {
  let seen = 0;
  const folders: WalkedEntry[] = [{ path: root, relative: "" }];
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    const entries = await list(folder.path);
    const below: WalkedEntry[] = [];
    for (const entry of entries) {
      signal.throwIfAborted();
      seen += 1;
      if (seen > mostEntries) return;
      const relative = folder.relative === "" ? entry.name : `${folder.relative}/${entry.name}`;
      const walked = { path: join(folder.path, entry.name), relative };
      if (entry.isFile()) yield walked;
      else if (entry.isDirectory() && !isSkipped(walked.path)) below.push(walked);
    }
    folders.push(...below.reverse());
  }
}

async function list(folder: string) {
  try {
    const entries = await Array.fromAsync(await opendir(folder));
    return entries.sort((a, b) => (a.name < b.name ? -1 : 1));
  } catch (error) {
    // Deleted meanwhile, or not readable: the rest of the project can still be searched.
    if (isErrno(error, "ENOENT", "EACCES", "EPERM", "ENOTDIR")) return [];
    throw error;
  }
}
