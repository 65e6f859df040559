/** Finds the pages of commands in a folder: `fix.md` is `/fix`, `git/sync.md` is `/git:sync`. A page may be named itself. */
import type { Dirent } from "node:fs";
import { readdir, readFile, stat } from "node:fs/promises";
import { basename, join } from "node:path";
import type { CommandDiagnostic } from "../../contract/command.ts";
import { containedPath, isErrno } from "../../lib/files.ts";
import { errorText } from "../../lib/log.ts";
import { maxPageBytes } from "./page.ts";

export type CommandFile = {
  name: string;
  /** Below the root that was searched, with `/`. */
  path: string;
  bytes: Uint8Array;
};

export type FoundCommands = { files: CommandFile[]; diagnostics: CommandDiagnostic[] };

const maxFiles = 500;
const maxDepth = 8;
const namePart = /^[a-z0-9][a-z0-9_.-]*$/;

/**
 * In the order of their paths. Never throws for what the folder holds; one that is not there holds nothing. Nothing
 * outside of `root` is read.
 */
export async function findCommandFiles(root: string, folder: string): Promise<FoundCommands> {
  const found: FoundCommands = { files: [], diagnostics: [] };
  const warn = (file: string, message: string) =>
    void found.diagnostics.push({ level: "warning", file, line: null, message });
  const walk = async (path: string, above: readonly string[]): Promise<void> => {
    for (const entry of await list(join(root, path))) {
      if (found.files.length >= maxFiles) return;
      const below = `${path}/${entry.name}`;
      const part = entry.name.toLowerCase().replace(/\.md$/, "");
      if (entry.isDirectory()) {
        if (above.length < maxDepth) await walk(below, [...above, part]);
      } else if (/\.md$/i.test(entry.name)) {
        const parts = [...above, part];
        if (!parts.every((one) => namePart.test(one)))
          warn(below, "is no command: names are made of letters, digits, - and _");
        else await take(below, parts.join(":"));
      }
    }
  };
  const take = async (path: string, name: string): Promise<void> => {
    const real = await containedPath(root, path);
    if (real === null) return warn(path, "is a link out of its folder; it is not read");
    try {
      const { size } = await stat(real);
      // A page that is too long is judged by its beginning, so that it can be told.
      const bytes = size > maxPageBytes ? new Uint8Array(maxPageBytes + 1) : await readFile(real);
      found.files.push({ name, path, bytes });
    } catch (error) {
      if (!isErrno(error, "ENOENT")) warn(path, `cannot be read: ${errorText(error)}`);
    }
  };
  if (/\.md$/.test(folder)) await take(folder, basename(folder, ".md").toLowerCase());
  else if (await isFolderInside(root, folder)) await walk(folder, []);
  return found;
}

async function isFolderInside(root: string, folder: string): Promise<boolean> {
  const real = await containedPath(root, folder).catch(() => null);
  return real !== null && ((await stat(real).catch(() => null))?.isDirectory() ?? false);
}

async function list(folder: string): Promise<Dirent[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  return entries.filter(({ name }) => !/^[._]/.test(name)).sort((a, b) => (a.name < b.name ? -1 : 1));
}
