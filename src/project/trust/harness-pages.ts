/**
 * Pages that harnesses read on their own: agents, skills and commands. Most are only text. Some name programs to run
 * as hooks, servers to start or rights to take, or contain a command that the harness runs when it loads the page.
 */
import { createHash } from "node:crypto";
import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { isErrno } from "../../lib/files.ts";

/** A page in a deeper folder is none that a harness reads. Links may form a circle. */
const deepest = 6;
const mostPages = 5_000;

export type PagesFound = { hash: string; texts: readonly string[] };

/** The pages below a folder that do more than speak, or null if there is none. Links are followed, as harnesses do. */
export async function activePages(folder: string, acts: (text: string) => boolean): Promise<PagesFound | null> {
  const hash = createHash("sha256");
  const texts: string[] = [];
  for (const path of (await pagesBelow(folder)).sort()) {
    const text = await readFile(path, "utf8").catch(() => "");
    if (!acts(text)) continue;
    texts.push(text);
    hash.update(`${path.slice(folder.length)}\0${text.length}\0${text}\0`);
  }
  return texts.length === 0 ? null : { hash: `sha256:${hash.digest("hex")}`, texts };
}

async function pagesBelow(folder: string): Promise<string[]> {
  const pages: string[] = [];
  const folders = [{ path: folder, depth: 0 }];
  for (let next = folders.pop(); next !== undefined; next = folders.pop()) {
    for (const name of await namesIn(next.path)) {
      const path = join(next.path, name);
      const info = await stat(path).catch(() => null);
      if (info?.isDirectory() === true && next.depth < deepest) folders.push({ path, depth: next.depth + 1 });
      else if (info?.isFile() === true && /\.mdx?$/i.test(name)) pages.push(path);
      if (pages.length > mostPages) throw new Error(`${folder} holds more than ${mostPages} pages`);
    }
  }
  return pages;
}

async function namesIn(folder: string): Promise<string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    if (isErrno(error, "ENOENT", "ENOTDIR", "EACCES")) return [];
    throw error;
  }
}

/** Keys of a header with which Claude Code runs programs, starts servers or takes rights. */
const activeKeys = /^[ \t"']*(?:hooks|mcpServers|permissionMode)["']?[ \t]*:/m;
/** A command that Claude Code runs while it loads the page: !`command`, or a block that begins with ```!. */
const loadedCommand = /(?:^|[\s(>])!`[^`\n]+`|^[ \t]*(?:`{3,}|~{3,})!/m;

export function actsInClaude(text: string): boolean {
  return activeKeys.test(headerOf(text)) || loadedCommand.test(text);
}

/** Copilot starts the servers that the header of a custom agent names. */
export function actsInCopilot(text: string): boolean {
  return /^[ \t"']*mcp-servers["']?[ \t]*:/m.test(headerOf(text));
}

/** Without a clear end, the whole text counts, because a harness may read it differently. */
function headerOf(text: string): string {
  if (!/^\uFEFF?\s*---/.test(text)) return "";
  const end = text.indexOf("\n---", 3);
  return end === -1 ? text : text.slice(0, end);
}
