/**
 * Project files that harnesses read on their own and that can make them run programs or call other addresses. Most
 * harnesses do not ask for trust when Aegis starts them, so Aegis asks.
 */

import { createHash, randomUUID } from "node:crypto";
import { lstat, stat } from "node:fs/promises";
import { dirname, join, relative, resolve } from "node:path";
import { type HarnessFile, harnesses, projectFilesOf } from "@aegis/drivers/all.ts";
import type { CountedContent, ProjectFile } from "@aegis/drivers/harness.ts";
import { ifUnreadable, isInside, isReachable, isUnreadable, reachableEntries, readRegular } from "@aegis/lib/files.ts";
import { userHome } from "@aegis/lib/home.ts";
import { listTree } from "@aegis/lib/safe-tree.ts";
import { fileParts, type TrustParts } from "@aegis/plugins/trust/parts.ts";
import type { TrustItem } from "@aegis/plugins/trust/trust.ts";
import { bytesHash, type Contents } from "./contents.ts";
import { NamedFiles } from "./named-files.ts";
import { programVariables } from "./program-variables.ts";

/** Keys of Claude Code's settings that neither run anything nor permit anything to run. */
const harmlessClaudeKeys = ["$schema", "model", "outputStyle", "cleanupPeriodDays", "includeCoAuthoredBy", "language"];

type Judges = {
  /** Whether the text of a file has any effect. */
  matters?: (text: string) => boolean;
  /** For a folder of pages: whether a page does more than speak. Only those pages count. */
  pages?: (text: string) => boolean;
  /** Whether a text that is about to be written may have an effect. */
  written?: (text: string) => boolean;
};

const judges: Readonly<Record<CountedContent, Judges>> = {
  settings: { matters: mattersToClaude },
  pages: { pages: actsInClaude, written: writesActivePage },
  server_pages: { pages: actsInCopilot, written: writesActivePage },
  variables: { matters: setsVariableOfPrograms, written: namesVariableOfPrograms },
};

/** Lists of MCP servers that several programs read. */
const serverLists: readonly ProjectFile[] = [".mcp.json", ".vscode/mcp.json", ".github/mcp.json"].map((path) => ({
  path,
  what: "it names MCP servers that an agent may start",
}));

/** An agent of any program may start those servers; only a program that nothing is known of is judged by them. */
export const harnessFiles: readonly HarnessFile[] = [
  ...projectFilesOf(harnesses),
  ...serverLists.map((file) => ({
    ...file,
    harnesses: harnesses.filter(({ projectFiles }) => projectFiles === "any").map(({ harness }) => harness),
  })),
];

function judgesOf({ counts }: HarnessFile): Judges {
  return counts === undefined ? {} : judges[counts];
}

/** For modules that need the list of files. `matters` checks a text that is about to be written. */
export const harnessPaths: readonly { path: string; matters?: (text: string) => boolean }[] = harnessFiles.map(
  (file) => {
    const { written } = judgesOf(file);
    return written === undefined ? { path: file.path } : { path: file.path, matters: written };
  },
);

/** Whether the harness reads any such file on its own. */
export function readsProjectFiles(harness: string): boolean {
  return harnessFiles.some((file) => file.harnesses.includes(harness));
}

/** Harnesses create this folder themselves; hashing it would invalidate the trust at each start. */
const installedByHarness: readonly string[] = ["node_modules"];

export type HarnessItem = { item: TrustItem; harnesses: readonly string[] };

/**
 * The existing files that matter, as items to trust; with `only`, those of one harness. Harnesses also read the folders
 * above, up to the root of the repository.
 */
export async function harnessItems(root: string, contents: Contents, only?: string): Promise<HarnessItem[]> {
  const folders = [root, ...(await foldersAbove(root))];
  const items: HarnessItem[] = [];
  for (const folder of folders) {
    for (const file of harnessFiles) {
      const { path, what } = file;
      if (only !== undefined && !file.harnesses.includes(only)) continue;
      const { matters, pages } = judgesOf(file);
      const named = new NamedFiles({ root: folder, worktree: null }, contents);
      const found =
        pages === undefined
          ? hashOfSettings(folder, path, matters, contents, named)
          : hashOfPages(folder, path, pages, named);
      const hash = await orUnknowable(join(folder, path), found);
      if (hash === null) continue;
      const name = relative(root, join(folder, path));
      const parts = async () => ({
        ...(await partsBelow(folder, path, pages).catch(ifUnreadable({}))),
        ...(await named.parts()),
      });
      items.push({ item: { kind: "harness", name, what, hash, file: name, parts }, harnesses: file.harnesses });
    }
  }
  return items;
}

/** From a project in a part of a repository up to its root. The files of the user's home folder are the user's own. */
async function foldersAbove(root: string): Promise<string[]> {
  const above: string[] = [];
  for (let folder = root; (await lstat(join(folder, ".git")).catch(ifUnreadable(null))) === null; ) {
    const next = dirname(folder);
    if (next === folder || next === userHome()) return [];
    above.push(next);
    folder = next;
  }
  return above;
}

async function hashOfSettings(
  root: string,
  path: string,
  matters: Judges["matters"],
  contents: Contents,
  named: NamedFiles,
): Promise<string | null> {
  const own = await hashOf(join(root, path), matters, contents);
  return own === null ? null : withNamed(root, path, own, named);
}

async function hashOfPages(
  root: string,
  path: string,
  acts: (text: string) => boolean,
  named: NamedFiles,
): Promise<string | null> {
  const found = await activePages(join(root, path), acts);
  if (found === null) return null;
  return withScripts(found.hash, found.texts, () => false, named);
}

/** The files of an item itself, by their paths from the folder that holds it. */
async function partsBelow(folder: string, path: string, pages: Judges["pages"]): Promise<TrustParts> {
  const place = join(folder, path);
  if (pages !== undefined) {
    const files = await filesBelow(place);
    const texts = await Promise.all(files.map((file) => readRegular(file.path).then(String, () => "")));
    const active = files.filter(({ ofPlugin }, index) => ofPlugin || pages(texts[index] ?? ""));
    return fileParts(active.map((file) => [relative(folder, file.path), file.path]));
  }
  const isFolder = (await stat(place)).isDirectory();
  const below = isFolder ? await listTree(place, new Set(installedByHarness)) : [""];
  return fileParts(below.map((name) => [join(path, name), join(place, name)]));
}

async function hashOf(path: string, matters: Judges["matters"], contents: Contents): Promise<string | null> {
  const info = await stat(path);
  if (info.isDirectory()) return contents.tree(path, installedByHarness);
  if (!info.isFile()) return unknowable();
  const bytes = await readRegular(path);
  return matters?.(bytes.toString("utf8")) === false ? null : bytesHash(bytes);
}

/** Null for what this user cannot read, because a harness cannot read it either. */
async function orUnknowable(path: string, hash: Promise<string | null>): Promise<string | null> {
  try {
    return await hash;
  } catch (error) {
    if (!isUnreadable(error)) throw error;
    return (await isReachable(path)) ? unknowable() : null;
  }
}

/** A harness could read something here that Aegis cannot check, so that no consent covers it. */
function unknowable(): string {
  return `unknown:${randomUUID()}`;
}

/** As below, for the pages of a harness. */
function writesActivePage(text: string): boolean {
  return /hooks|mcp-?servers|permission-?mode|allowed[-_]?tools|claude-plugin|!`|```!|~~~!/i.test(text);
}

/** As dotenv reads a line: an equals sign, or a colon and a blank. */
const setVariable = new RegExp(`^\\s*(?:export\\s+)?(?:${programVariables})(?:\\s*=|:\\s)`, "im");
const namedVariable = new RegExp(`(?:^|[^A-Za-z_]|\\\\n)(?:${programVariables})\\s*[=:]`, "i");

function setsVariableOfPrograms(text: string): boolean {
  return setVariable.test(text);
}

/** Checks a write call, which may contain the lines of the file in any form. */
function namesVariableOfPrograms(text: string): boolean {
  return namedVariable.test(text);
}

const settingsFile = /(?:\.jsonc?|\.toml|\.ya?ml|\.env)$/;
const mostNamed = 500;
const mostFolders = 20;

/** Settings name scripts, for example as hooks; the content of scripts in the project counts too. */
async function withNamed(root: string, path: string, own: string, named: NamedFiles): Promise<string> {
  const place = join(root, path);
  const isFolder = (await stat(place)).isDirectory();
  const below = isFolder ? await listTree(place, new Set(installedByHarness)) : [""];
  const files = below.map((name) => join(place, name)).filter((file) => settingsFile.test(file));
  const texts = await Promise.all(files.map((file) => readRegular(file).then(String, () => "")));
  return withScripts(own, texts, (word) => isInside(place, resolve(root, word)), named);
}

/** Adds the content of the files that texts name, except those that are part of the hash already. */
async function withScripts(
  own: string,
  texts: readonly string[],
  isPart: (word: string) => boolean,
  named: NamedFiles,
): Promise<string> {
  const lines: string[] = [];
  for (const text of texts)
    for (const { path, hash } of await named.inText([...wordsOf(text)], foldersOf(text)))
      if (!isPart(path)) lines.push(`${path} ${hash}`);
  return lines.length === 0 ? own : bytesHash(Buffer.from([own, ...lines].join("\n")));
}

/** The words that could be paths, without the variable in which Claude Code passes the project folder to its hooks. */
function wordsOf(text: string): Set<string> {
  const words = text
    .split(/[\s"'`,;=()[\]{}<>|&\\]+/)
    .flatMap((word) => [word, word.replace(/^\$?(?:CLAUDE_PROJECT_DIR)?\/+/, "")]);
  return new Set(words.filter((word) => /[./]/.test(word) && word.length < 500).slice(0, mostNamed));
}

/** Commands in the text may look for their files there. */
function foldersOf(text: string): string[] {
  const named = text.matchAll(
    /(?:\b(?:cd|pushd|chdir)|-C|--prefix|--cwd|--chdir|--directory)[\s=]+[\\"']*([^\s"'\\;&|)]+)/g,
  );
  return [...new Set([...named].map(([, folder = ""]) => folder.replace(/^\$\{?CLAUDE_PROJECT_DIR\}?\/?/, "")))]
    .filter((folder) => folder !== "")
    .slice(0, mostFolders);
}

/** Settings that do not parse count, because the harness may parse them differently. */
function mattersToClaude(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== "object" || value === null) return true;
    return Object.keys(value).some((key) => !harmlessClaudeKeys.includes(key));
  } catch {
    return true;
  }
}

/** A page in a deeper folder is none that a harness reads. Links may form a circle. */
const deepest = 6;
const deepestOfPlugin = 20;
const mostPages = 5_000;

type PagesFound = { hash: string; texts: readonly string[] };

/** A folder that contains this is a plugin of Claude Code, which loads its hooks, servers and programs. */
const pluginMark = ".claude-plugin";

/**
 * Pages that harnesses read on their own (agents, skills and commands) are mostly only text. Some name programs to run as
 * hooks, servers to start or rights to take, or contain a command that the harness runs when it loads the page.
 *
 * The pages below a folder that do more than speak, and the files of plugins, or null if there are none. Links are
 * followed, as harnesses do.
 */
async function activePages(folder: string, acts: (text: string) => boolean): Promise<PagesFound | null> {
  const hash = createHash("sha256");
  const texts: string[] = [];
  for (const { path, ofPlugin } of (await filesBelow(folder)).sort((a, b) => (a.path < b.path ? -1 : 1))) {
    const bytes = await readRegular(path).catch(() => Buffer.alloc(0));
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
    const names = (await reachableEntries(next.path)).map(({ name }) => name);
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

function actsInClaude(text: string): boolean {
  const header = headerOf(text);
  return activeKeys.test(header) || hiddenKey.test(header) || loadedCommand.test(text);
}

/** Copilot starts the servers that the header of a custom agent names. */
function actsInCopilot(text: string): boolean {
  const header = headerOf(text);
  return /(?:^|[\s{,?"'])(?:mcp[-_]?servers|hooks)["']?\s*(?::|\r?\n\s*:)/im.test(header) || hiddenKey.test(header);
}

/** Without a clear end, the whole text counts, because a harness may read it differently. */
function headerOf(text: string): string {
  if (!/^\uFEFF?\s*---/.test(text)) return "";
  const end = text.indexOf("\n---", 3);
  return end === -1 ? text : text.slice(0, end);
}
