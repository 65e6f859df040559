/** Finds the project files that a command and its variables name, in the project and in a worktree of it. */
import { randomUUID } from "node:crypto";
import { realpath, stat } from "node:fs/promises";
import { isAbsolute, join, normalize, resolve } from "node:path";
import { containedPath, ifUnreadable, isInside } from "@aegis/lib/files.ts";
import { fileParts, type TrustParts } from "@aegis/plugins/trust/parts.ts";
import { valueHash } from "@aegis/plugins/trust/trust.ts";
import { codeFiles, isCode, isDataName, mostCodeFiles } from "./code-files.ts";
import { commandWords } from "./command-words.ts";
import type { Contents } from "./contents.ts";
import { isSearchPath, loadsCode } from "./program-variables.ts";

/** The project's folder, and the worktree in which the agent works: relative paths name its files there. */
export type Places = { root: string; worktree: string | null };

export type Behind = {
  /** For each word of the command, the hash of the project file that it names, or null. */
  words: (string | null)[];
  /** The other files that it names, or all code of the folder; null if there are none. */
  more: Readonly<Record<string, string>> | null;
  /** For the person who agrees: that the consent is bound to the folder, and why. */
  note: string | null;
};

/** A command that changes between more folders is not followed. */
const mostFolders = 20;

export class NamedFiles {
  readonly #places: Places;
  readonly #contents: Contents;
  /** Where each file was found, by the name under which a person knows it. */
  readonly #found = new Map<string, string>();

  constructor(places: Places, contents: Contents) {
    this.#places = places;
    this.#contents = contents;
  }

  parts(): Promise<TrustParts> {
    return fileParts([...this.#found].sort(([a], [b]) => (a < b ? -1 : 1)));
  }

  /** A file that the worktree does not have is the one of the project: nothing else can run under that name. */
  async placeOf(path: string): Promise<string> {
    const { root, worktree } = this.#places;
    if (worktree === null || isAbsolute(path)) return resolve(root, path);
    const there = resolve(worktree, path);
    return (await isReadable(there)) ? there : resolve(root, path);
  }

  /** The hash of a file of the project, or null. */
  async file(path: string): Promise<string | null> {
    if (path === "" || path.includes("\0")) return null;
    const hash = await this.#hashOf(path);
    if (hash !== null) this.#found.set(normalize(path), await this.placeOf(path));
    return hash;
  }

  async #hashOf(path: string): Promise<string | null> {
    const { root, worktree } = this.#places;
    if (worktree === null) return this.#contents.named(root, path);
    const place = await this.placeOf(path);
    if (!isInside(worktree, place)) return this.#contents.named(root, path);
    const real = await realpath(place).catch(() => null);
    if (real === null) return null;
    // A linked file of the project, such as one in `node_modules`.
    return isInside(root, real) && !path.startsWith("-")
      ? this.#contents.file(real)
      : this.#contents.named(worktree, path);
  }

  /** The content behind a command: the files that it names, or all code of the folder where that is not certain. */
  async behind(command: readonly string[]): Promise<Behind> {
    const { words, scripts, unsure } = commandWords(command);
    const runs = new Set(scripts);
    const counts = async (path: string, word: string) =>
      runs.has(word) || !isDataName(path) || (await isCode(await this.placeOf(path)));
    const own: (string | null)[] = [];
    const known = new Set<string>();
    for (const part of command) {
      // `--import=./setup.mjs` names a file too.
      const path = /^--?[^=]+=(.+)$/s.exec(part)?.[1] ?? part;
      known.add(normalize(path));
      own.push((await counts(path, part)) ? await this.file(path) : null);
    }
    const found: Record<string, string> = {};
    const folders = await this.#foldersIn(words);
    if (folders !== null)
      for (const folder of folders)
        for (const word of words) {
          const path = isAbsolute(word) ? word : join(folder, word);
          if (known.has(normalize(path)) || !(await counts(path, word))) continue;
          const hash = await this.file(path);
          if (hash !== null) found[path] = hash;
        }
    const why = unsure ?? (folders === null ? "it names too many folders" : null);
    if (why === null) return { words: own, more: Object.keys(found).length === 0 ? null : found, note: null };
    const { hash, note } = await this.#wholeFolder(why);
    return { words: own, more: { ...found, "all code": hash }, note };
  }

  /** The files that words of a text name, also in folders to which its commands change. */
  async inText(words: readonly string[], folders: readonly string[]): Promise<{ path: string; hash: string }[]> {
    const found: { path: string; hash: string }[] = [];
    for (const word of words)
      for (const path of [word, ...(isAbsolute(word) ? [] : folders.map((folder) => join(folder, word)))]) {
        if (path.includes("\0") || (isDataName(path) && !(await isCode(await this.placeOf(path))))) continue;
        const hash = await this.file(path);
        if (hash !== null) found.push({ path, hash });
      }
    return found;
  }

  /** The folders in which the command may look for its files: where it starts, and each folder that it names. */
  async #foldersIn(words: readonly string[]): Promise<string[] | null> {
    const { root, worktree } = this.#places;
    const placed = (path: string) => resolve(worktree ?? root, path);
    const folders = ["."];
    const seen = new Set([placed(".")]);
    for (const folder of folders)
      for (const word of words) {
        const path = isAbsolute(word) ? normalize(word) : join(folder, word);
        if (word.includes("\0") || seen.has(placed(path))) continue;
        const info = await stat(await this.placeOf(path)).catch(() => null);
        if (info?.isDirectory() !== true) continue;
        seen.add(placed(path));
        folders.push(path);
        if (folders.length > mostFolders) return null;
      }
    return folders;
  }

  async #wholeFolder(why: string): Promise<{ hash: string; note: string }> {
    const folder = this.#places.worktree ?? this.#places.root;
    const files = await codeFiles(folder);
    const uncertain = `which files it runs is not certain (${why})`;
    if (files === null) {
      const note = `${uncertain}, and the folder has more code than Aegis checks at each start (${mostCodeFiles} files or 100 MB): name the file in a plain command`;
      return { hash: randomUUID(), note };
    }
    const hashes: Record<string, string | null> = {};
    for (const path of files) hashes[path] = await this.file(path);
    return { hash: valueHash(hashes), note: `${uncertain}, so every code file of the folder counts (${files.length})` };
  }

  /** The project files from which programs load code because of a variable, and the code in folders of search paths. */
  async namedByEnv(env: Readonly<Record<string, string>>): Promise<Record<string, string>> {
    const found: Record<string, string> = {};
    for (const [name, value] of Object.entries(env)) {
      const whole = value.split(/[\s:=,]+/);
      for (const path of new Set([value, ...whole].filter((part) => part !== "" && !part.includes("\0")))) {
        const counts = loadsCode(name) || (await isCode(await this.placeOf(path)));
        const hash = counts ? await this.file(path) : null;
        const code = hash === null && isSearchPath(name) ? await this.#codeIn(path) : null;
        if (hash !== null || code !== null) found[`${name} ${path}`] = hash ?? code ?? "";
      }
    }
    return found;
  }

  async #codeIn(path: string): Promise<string | null> {
    const { root: project, worktree } = this.#places;
    const isThere = worktree !== null && !isAbsolute(path) && (await isReadable(resolve(worktree, path)));
    const root = isThere ? worktree : project;
    const inside = await containedPath(root, path).catch(() => null);
    // The whole project as a search path would change with every edit; `aegis trust` shows the variable.
    if (inside === null || inside === (await containedPath(root, "."))) return null;
    if ((await stat(inside).catch(() => null))?.isDirectory() !== true) return null;
    const files = await codeFiles(inside);
    if (files === null) return randomUUID();
    const hashes: Record<string, string | null> = {};
    for (const file of files) hashes[file] = await this.file(join(path, file));
    return valueHash(hashes);
  }
}

async function isReadable(path: string): Promise<boolean> {
  return (await stat(path).catch(ifUnreadable(null))) !== null;
}
