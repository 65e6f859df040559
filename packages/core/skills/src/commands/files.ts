/**
 * Finds command pages in a folder: `fix.md` is `/fix`, `git/sync.md` is `/git:sync`. A page can also be given directly.
 */
import type { Dirent } from "node:fs";
import { readdir, stat } from "node:fs/promises";
import { basename, join } from "node:path";
import type { CommandDiagnostic } from "@aegis/contract/command.ts";
import { containedPath, isErrno, readRegular } from "@aegis/lib/files.ts";
import { errorText } from "@aegis/lib/log.ts";

export type CommandFile = {
  name: string;
  /** Relative to the searched root, with `/` separators. */
  path: string;
  bytes: Uint8Array;
};

export type FoundCommands = { files: CommandFile[]; diagnostics: CommandDiagnostic[] };

const maxFiles = 5_000;
const maxDepth = 8;
const maxPageBytes = 256 * 1024;
/** Common pages in command folders that are not commands. */
const otherPages = /^(?:agents|claude|gemini|readme|contributing|changelog|license)\.md$/i;

/**
 * Sorted by path. Never throws because of the folder's content; a missing folder is empty. Reads nothing outside of
 * `root`.
 */
export async function findCommandFiles(root: string, folder: string, most = maxFiles): Promise<FoundCommands> {
  const found: FoundCommands = { files: [], diagnostics: [] };
  const note = (level: CommandDiagnostic["level"], file: string, message: string) =>
    void found.diagnostics.push({ level, file, line: null, message });
  const warn = (file: string, message: string) => note("warning", file, message);
  const pages = await pagesBelow(root, folder, note);
  if (pages === null) warn(folder, "leads out of its folder; it is not read");
  else if (pages.length > most)
    warn(folder, `expected at most ${most} pages, found ${pages.length}; the others are left out`);
  for (const { path, parts } of pages?.slice(0, most) ?? []) {
    const name = parts.map(namePart).join(":");
    if (parts.some((part) => namePart(part) === "")) {
      warn(path, "is not a command: expected a name with letters or digits");
      continue;
    }
    if (name !== parts.join(":")) note("info", path, `expected a name of letters, digits, - and _; it is /${name}`);
    try {
      const bytes = await readContained(root, path);
      if (bytes === null) warn(path, await whyNotRead(join(root, path)));
      else if (otherPages.test(basename(path)) && !isPage(bytes))
        note("info", path, "is treated as a page about the folder, not as a command; a header makes it one");
      else found.files.push({ name, path, bytes });
    } catch (error) {
      if (!isErrno(error, "ENOENT")) warn(path, `cannot be read: ${errorText(error)}`);
    }
  }
  return found;
}

type Page = { path: string; parts: string[] };
type Note = (level: CommandDiagnostic["level"], file: string, message: string) => void;

/** Null if the folder lies outside the root. */
async function pagesBelow(root: string, folder: string, note: Note): Promise<Page[] | null> {
  if (/\.md$/i.test(folder)) return [{ path: folder, parts: [partOf(basename(folder))] }];
  // A missing root is empty.
  const real = await containedPath(root, folder).catch(() => "");
  if (real === null) return null;
  const pages: Page[] = [];
  const walk = async (path: string, above: readonly string[]): Promise<void> => {
    for (const entry of await list(join(root, path))) {
      const below = `${path}/${entry.name}`;
      const parts = [...above, partOf(entry.name)];
      if (entry.name.startsWith("_")) note("info", below, "is not read: its name begins with _");
      else if (entry.isDirectory() && parts.length > maxDepth)
        note("warning", below, `is not read: it is more than ${maxDepth} folders deep`);
      else if (entry.isDirectory()) await walk(below, parts);
      else if (!entry.isDirectory() && /\.md$/i.test(entry.name)) pages.push({ path: below, parts });
    }
  };
  await walk(folder, []);
  return pages;
}

async function whyNotRead(path: string): Promise<string> {
  const isGone = await stat(path).then(
    () => false,
    (error: unknown) => isErrno(error, "ENOENT"),
  );
  return isGone ? "is a link to a file that does not exist" : "is a link out of its folder; it is not read";
}

/** One part of a command's name; letters of any script are valid. Empty if no character is valid. */
function namePart(text: string): string {
  return text
    .normalize("NFC")
    .replace(/[^\p{L}\p{N}_.-]+/gu, "-")
    .replace(/^[-_.]+|-+$/g, "");
}

/** True if the file starts with a frontmatter header. */
function isPage(bytes: Uint8Array): boolean {
  return /^\uFEFF?\s*---\s*\n/.test(new TextDecoder().decode(bytes.subarray(0, 64)));
}

function partOf(name: string): string {
  return name.toLowerCase().replace(/\.md$/, "");
}

/** Null if the file lies outside the root. */
async function readContained(root: string, path: string): Promise<Uint8Array | null> {
  const real = await containedPath(root, path);
  return real === null ? null : readRegular(real, maxPageBytes);
}

async function list(folder: string): Promise<Dirent[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  return entries.filter(({ name }) => !name.startsWith(".")).sort((a, b) => (a.name < b.name ? -1 : 1));
}
