/** Finds the pages of commands in a folder: `fix.md` is `/fix`, `git/sync.md` is `/git:sync`. A page may be named itself. */
import type { Dirent } from "node:fs";
import { readdir, readFile, stat } from "node:fs/promises";
import { basename, join } from "node:path";
import type { CommandDiagnostic } from "../../contract/command.ts";
import { containedPath, isErrno } from "../../lib/files.ts";
import { errorText } from "../../lib/log.ts";

export type CommandFile = {
  name: string;
  /** Below the root that was searched, with `/`. */
  path: string;
  bytes: Uint8Array;
};

export type FoundCommands = { files: CommandFile[]; diagnostics: CommandDiagnostic[] };

const maxFiles = 500;
const maxDepth = 8;
const maxPageBytes = 64 * 1024;
const namePart = /^[a-z0-9][a-z0-9_.-]*$/;

/**
 * In the order of their paths. Never throws for what the folder holds; one that is not there holds nothing. Nothing
 * outside of `root` is read.
 */
export async function findCommandFiles(root: string, folder: string): Promise<FoundCommands> {
  const found: FoundCommands = { files: [], diagnostics: [] };
  const warn = (file: string, message: string) =>
    void found.diagnostics.push({ level: "warning", file, line: null, message });
  const pages = await pagesBelow(root, folder);
  if (pages === null) warn(folder, "leads out of its folder; it is not read");
  else if (pages.length > maxFiles)
    warn(folder, `expected at most ${maxFiles} pages, found ${pages.length}; the others are left out`);
  for (const { path, parts } of pages?.slice(0, maxFiles) ?? []) {
    if (!parts.every((part) => namePart.test(part))) {
      warn(path, "is no command: names are made of letters, digits, - and _");
      continue;
    }
    try {
      const bytes = await readContained(root, path);
      if (bytes === null) warn(path, "is a link out of its folder; it is not read");
      else found.files.push({ name: parts.join(":"), path, bytes });
    } catch (error) {
      if (!isErrno(error, "ENOENT")) warn(path, `cannot be read: ${errorText(error)}`);
    }
  }
  return found;
}

type Page = { path: string; parts: string[] };

/** Null when the folder lies outside of the root. */
async function pagesBelow(root: string, folder: string): Promise<Page[] | null> {
  if (/\.md$/i.test(folder)) return [{ path: folder, parts: [partOf(basename(folder))] }];
  // A root that does not exist holds nothing.
  const real = await containedPath(root, folder).catch(() => "");
  if (real === null) return null;
  const pages: Page[] = [];
  const walk = async (path: string, above: readonly string[]): Promise<void> => {
    for (const entry of await list(join(root, path))) {
      const below = `${path}/${entry.name}`;
      const parts = [...above, partOf(entry.name)];
      if (entry.isDirectory() && parts.length <= maxDepth) await walk(below, parts);
      else if (!entry.isDirectory() && /\.md$/i.test(entry.name)) pages.push({ path: below, parts });
    }
  };
  await walk(folder, []);
  return pages;
}

function partOf(name: string): string {
  return name.toLowerCase().replace(/\.md$/, "");
}

/** Null when the file lies outside of the root. */
async function readContained(root: string, path: string): Promise<Uint8Array | null> {
  const real = await containedPath(root, path);
  if (real === null) return null;
  const { size } = await stat(real);
  if (size > maxPageBytes) throw new RangeError(`expected at most ${maxPageBytes} bytes, found ${size}`);
  return readFile(real);
}

async function list(folder: string): Promise<Dirent[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  return entries.filter(({ name }) => !/^[._]/.test(name)).sort((a, b) => (a.name < b.name ? -1 : 1));
}
