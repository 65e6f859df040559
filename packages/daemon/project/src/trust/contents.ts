/**
 * Caches hashes of project files by their file metadata, because trust is checked at every start and must not read a
 * large tree each time. A file that was changed a moment ago is always read again, because a second change within the
 * clock's resolution would leave the metadata unchanged.
 */
import { createHash } from "node:crypto";
import type { BigIntStats } from "node:fs";
import { lstat, readFile, realpath, stat } from "node:fs/promises";
import { join, resolve } from "node:path";
import { ifUnreadable, isErrno, isInside } from "@aegis/lib/files.ts";
import { listTree, treeHash } from "@aegis/lib/safe-tree.ts";

/** Coarser than the timestamps of the file systems that Aegis is likely to run on. */
const restNs = 3_000_000_000n;
/** More entries than the code files of a folder would be a leak. */
const rememberAtMost = 10_000;

export type ContentsOptions = {
  /** Hashes of files that were already read and must not be read again, by real path. */
  given?: ReadonlyMap<string, string>;
  /** Milliseconds of the file system's clock. */
  now?: () => number;
  read?: (path: string) => Promise<Uint8Array>;
};

type Known = { stamp: string; hash: string };

export class Contents {
  readonly #known = new Map<string, Known>();
  readonly #nowNs: () => bigint;

  readonly #given: ReadonlyMap<string, string>;
  readonly #read: (path: string) => Promise<Uint8Array>;

  constructor({ given = new Map(), now = Date.now, read = readFile }: ContentsOptions = {}) {
    this.#given = given;
    this.#read = read;
    this.#nowNs = () => BigInt(Math.floor(now())) * 1_000_000n;
  }

  /**
   * Hashes a file named relative to the project folder. Returns null if it is not a file of the project. A link in the
   * project counts with the content of its target, even outside the project.
   */
  async named(root: string, path: string): Promise<string | null> {
    if (path.includes("\0") || path.startsWith("-")) return null;
    const wanted = resolve(root, path);
    if (!isInside(root, wanted)) return null;
    const real = await realpath(wanted).catch(() => null);
    if (real === null) return null;
    const hash = await this.file(real);
    return hash === null || isInside(root, real) ? hash : `${real} ${hash}`;
  }

  /** Null if the file does not exist. */
  async file(path: string): Promise<string | null> {
    const given = this.#given.get(path);
    if (given !== undefined) return given;
    const info = await statOf(path);
    if (info?.isFile() !== true) return null;
    return this.#remembered(path, [["", info]], async () => {
      try {
        return bytesHash(await this.#read(path));
      } catch (error) {
        // A program that Aegis starts as the same user cannot read the file either.
        if (isErrno(error, "EACCES", "EPERM")) return "unreadable";
        throw error;
      }
    });
  }

  /** Follows links, because the reader of the folder follows them too. */
  async tree(dir: string, skip: readonly string[] = []): Promise<string> {
    const entries = await entriesOf(dir, skip);
    const behind: string[] = [];
    for (const [path, info] of entries)
      if (info.isSymbolicLink()) behind.push(`${path} ${await this.#behind(join(dir, path), skip)}`);
    const hash = await this.#remembered(dir, entries, () => treeHash(dir, { skip }));
    return behind.length === 0 ? hash : bytesHash(Buffer.from([hash, ...behind].join("\n")));
  }

  async #behind(link: string, skip: readonly string[]): Promise<string> {
    const real = await realpath(link).catch(() => null);
    if (real === null) return "nothing";
    const info = await statOf(real);
    if (info?.isDirectory() !== true) return (await this.file(real)) ?? "nothing";
    // A link to a parent folder would recurse forever.
    if (isInside(real, link)) return "a folder that holds it";
    return this.#remembered(real, await entriesOf(real, skip), () => treeHash(real, { skip }));
  }

  async #remembered(
    path: string,
    entries: readonly [string, BigIntStats][],
    read: () => Promise<string>,
  ): Promise<string> {
    const stamp = entries.map(([name, info]) => `${name}\0${stampOf(info)}`).join("\n");
    const known = this.#known.get(path);
    if (known?.stamp === stamp) return known.hash;
    const before = this.#nowNs();
    const hash = await read();
    const rests = entries.every(([, { ctimeNs, mtimeNs }]) => ctimeNs + restNs < before && mtimeNs + restNs < before);
    this.#known.delete(path);
    if (rests) this.#known.set(path, { stamp, hash });
    const [oldest] = this.#known.keys();
    if (this.#known.size > rememberAtMost && oldest !== undefined) this.#known.delete(oldest);
    return hash;
  }
}

export function bytesHash(bytes: Uint8Array): string {
  return `sha256:${createHash("sha256").update(bytes).digest("hex")}`;
}

function stampOf({ dev, ino, size, mode, mtimeNs, ctimeNs }: BigIntStats): string {
  return `${dev}:${ino}:${size}:${mode}:${mtimeNs}:${ctimeNs}`;
}

async function entriesOf(dir: string, skip: readonly string[]): Promise<[string, BigIntStats][]> {
  const entries: [string, BigIntStats][] = [];
  for (const path of await listTree(dir, new Set(skip)))
    entries.push([path, await lstat(join(dir, path), { bigint: true })]);
  return entries;
}

async function statOf(path: string): Promise<BigIntStats | null> {
  return stat(path, { bigint: true }).catch(ifUnreadable(null));
}
