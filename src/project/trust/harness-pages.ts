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
const deepestOfPlugin = 20;
const mostPages = 5_000;

export type PagesFound = { hash: string; texts: readonly string[] };

/** A folder that contains this is a plugin of Claude Code, which loads its hooks, servers and programs. */
const pluginMark = ".claude-plugin";

/**
 * The pages below a folder that do more than speak, and the files of plugins, or null if there are none. Links are
 * followed, as harnesses do.
 */
export async function activePages(folder: string, acts: (text: string) => boolean): Promise<PagesFound | null> {
  const hash = createHash("sha256");
  const texts: string[] = [];
  for (const { path, ofPlugin } of (await filesBelow(folder)).sort((a, b) => (a.path < b.path ? -1 : 1))) {
    const bytes = await readFile(path).catch(() => Buffer.alloc(0));
    const text = bytes.toString("utf8");
    if (!ofPlugin && !acts(text)) continue;
    texts.push(text);
    hash
      .update(`${path.slice(folder.length)}\0${bytes.length}\0`)
      .update(bytes)
      .update("\0");
  }
  return texts.length === 0 ? null : { hash: `sha256:${hash.digest("hex")}`, texts };
}

type Found = { path: string; ofPlugin: boolean };

/** Pages, and every file of a plugin. */
async function filesBelow(folder: string): Promise<Found[]> {
  const found: Found[] = [];
  const folders = [{ path: folder, depth: 0, inPlugin: false }];
  for (let next = folders.pop(); next !== undefined; next = folders.pop()) {
    const names = await namesIn(next.path);
    const ofPlugin = next.inPlugin || names.some((name) => name.toLowerCase() === pluginMark);
    for (const name of names) {
      const path = join(next.path, name);
      const info = await stat(path).catch(() => null);
      if (info?.isDirectory() === true && (next.depth < deepest || ofPlugin) && next.depth < deepestOfPlugin)
        folders.push({ path, depth: next.depth + 1, inPlugin: ofPlugin });
      else if (info?.isFile() === true && (ofPlugin || /\.mdx?$/i.test(name))) found.push({ path, ofPlugin });
      if (found.length > mostPages) throw new Error(`${folder} holds more than ${mostPages} pages`);
    }
  }
  return found;
}

async function namesIn(folder: string): Promise<string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    if (isErrno(error, "ENOENT", "ENOTDIR", "EACCES")) return [];
    throw error;
  }
}

/**
 * Keys of a header with which Claude Code runs programs, starts servers or takes rights, in any notation of YAML:
 * quoted, in braces, after a question mark, in other letters. `allowed-tools` permits tools without a question.
 */
const activeKeys =
  /(?:^|[\s{,?"'])(?:hooks|mcp[-_]?servers|permission[-_]?mode|allowed[-_]?tools|(?:pre|post)tooluse|permissionrequest)["']?\s*(?::|\r?\n\s*:)/im;
/** An escape in a quoted key, an alias or a merged map can spell each of them. */
const hiddenKey = /\\[xuU][\da-fA-F]{2}|^\s*(?:<<|["']<<["']|\*\S+)\s*:/m;
/** A command that Claude Code runs while it loads the page: !`command`, or a block that begins with ```!. */
const loadedCommand = /(?:^|[\s(>])!`[^`\n]+`|^[ \t]*(?:`{3,}|~{3,})!/m;

export function actsInClaude(text: string): boolean {
  const header = headerOf(text);
  return activeKeys.test(header) || hiddenKey.test(header) || loadedCommand.test(text);
}

/** Copilot starts the servers that the header of a custom agent names. */
export function actsInCopilot(text: string): boolean {
  const header = headerOf(text);
  return /(?:^|[\s{,?"'])(?:mcp[-_]?servers|hooks)["']?\s*(?::|\r?\n\s*:)/im.test(header) || hiddenKey.test(header);
}

/** Without a clear end, the whole text counts, because a harness may read it differently. */
function headerOf(text: string): string {
  if (!/^\uFEFF?\s*---/.test(text)) return "";
  const end = text.indexOf("\n---", 3);
  return end === -1 ? text : text.slice(0, end);
}
