/**
 * The files of a project as a transaction will leave them. Changes are collected in memory and read from there; the
 * disk is unchanged until the journal is applied.
 */
import { readFile, stat } from "node:fs/promises";
import { isAbsolute, join, relative, sep } from "node:path";
import { AegisError } from "@aegis/contract/errors.ts";
import { containedPath, isErrno } from "@aegis/lib/files.ts";

/** `after` is null for a deleted file, `before` for a new one. */
export type PlannedFile = { path: string; before: Uint8Array | null; after: Uint8Array | null; mode: number };

const newFileMode = 0o644;

export class FilePlan {
  readonly root: string;
  readonly #files = new Map<string, PlannedFile>();

  constructor(root: string) {
    this.root = root;
  }

  /** The planned content of a path relative to the root; null if the file will not exist. */
  async read(path: string): Promise<Uint8Array | null> {
    const inside = await this.#inside(path);
    const planned = this.#files.get(inside);
    return planned === undefined ? (await this.#onDisk(inside)).bytes : planned.after;
  }

  /** Like `read`, only for files that the plan changes; undefined for all others. */
  async planned(path: string): Promise<Uint8Array | null | undefined> {
    return this.#files.get(await this.#inside(path))?.after;
  }

  async write(path: string, bytes: Uint8Array | null): Promise<void> {
    const inside = await this.#inside(path);
    const known = this.#files.get(inside);
    if (known !== undefined) {
      known.after = bytes;
      return;
    }
    const { bytes: before, mode } = await this.#onDisk(inside);
    this.#files.set(inside, { path: inside, before, after: bytes, mode });
  }

  /** Only the files whose content changes. */
  changes(): PlannedFile[] {
    return [...this.#files.values()].filter(({ before, after }) => !sameBytes(before, after));
  }

  /** The names that the plan adds to a folder and removes from it. */
  namesIn(folder: string): { added: string[]; removed: string[] } {
    const below = folder === "" ? "" : `${folder}${sep}`;
    const here = [...this.#files.values()].filter(
      ({ path }) => path.startsWith(below) && !path.slice(below.length).includes(sep),
    );
    const names = (files: PlannedFile[]) => files.map(({ path }) => path.slice(below.length));
    return {
      added: names(here.filter(({ before, after }) => before === null && after !== null)),
      removed: names(here.filter(({ after }) => after === null)),
    };
  }

  /** Follows links inside the project; refuses a path that leaves it, and Aegis's own state. */
  async #inside(path: string): Promise<string> {
    const real = isAbsolute(path) || path.includes("\0") ? null : await containedPath(this.root, path);
    if (real === null) throw new AegisError("forbidden", `"${path}" is not a file inside the project`);
    const inside = relative(this.root, real);
    const state = join(".aegis", "state");
    if (inside === "" || inside === state || inside.startsWith(`${state}${sep}`) || inside.split(sep)[0] === ".git")
      throw new AegisError("forbidden", `"${path}" is not a plugin's to change`);
    return inside;
  }

  async #onDisk(path: string): Promise<{ bytes: Uint8Array | null; mode: number }> {
    const file = join(this.root, path);
    try {
      const info = await stat(file);
      if (!info.isFile()) throw new AegisError("conflict", `${path} is not a regular file`);
      return { bytes: await readFile(file), mode: info.mode & 0o777 };
    } catch (error) {
      if (isErrno(error, "ENOENT", "ENOTDIR")) return { bytes: null, mode: newFileMode };
      throw error;
    }
  }
}

function sameBytes(a: Uint8Array | null, b: Uint8Array | null): boolean {
  return a === null || b === null ? a === b : Buffer.compare(a, b) === 0;
}
