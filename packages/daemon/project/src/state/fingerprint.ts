/** Identifies a database file by its place on disk and by its content. */
import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { open, stat } from "node:fs/promises";
import { ifMissing } from "@aegis/lib/files.ts";

/** Identifies a file across renames and restarts. `birth` is null if the file system does not report it. */
export type FileIdentity = { inode: string; birth: string | null };

/** Null if the file does not exist. */
export async function identityOf(path: string): Promise<FileIdentity | null> {
  const found = await stat(path, { bigint: true }).catch(ifMissing(null));
  if (found === null) return null;
  const { ino, birthtimeNs, ctimeNs } = found;
  // Without a birth time, some systems return the time of the last change and others return zero.
  const known = birthtimeNs > 0n && birthtimeNs !== ctimeNs;
  return { inode: String(ino), birth: known ? String(birthtimeNs) : null };
}

/**
 * Ignores device numbers, which change when a disk is mounted again. Compares the birth time because inodes are reused
 * soon after a file is deleted.
 */
export function isSameFile(a: FileIdentity, b: FileIdentity): boolean {
  if (a.inode !== b.inode) return false;
  return a.birth === null || b.birth === null || a.birth === b.birth;
}

/** Hashes the database file and its write-ahead log, if the log is not empty. */
export async function digestOf(path: string): Promise<string> {
  const hash = createHash("sha256");
  for (const [name, file] of [
    ["database", path],
    ["log", `${path}-wal`],
  ] as const) {
    const size = await sizeOf(file);
    if (name === "log" && size === 0) continue;
    hash.update(`${name} ${size}\n`);
    for await (const chunk of createReadStream(file)) hash.update(chunk);
  }
  return hash.digest("hex");
}

/** Zero if the file does not exist. */
export async function sizeOf(path: string): Promise<number> {
  return (await stat(path).catch(ifMissing(null)))?.size ?? 0;
}

const magic = "SQLite format 3\0";

/** Returns true if SQLite would open the file as a non-empty database. */
export async function looksLikeDatabase(path: string): Promise<boolean> {
  if ((await sizeOf(path)) === 0) return (await sizeOf(`${path}-wal`)) > 0;
  const file = await open(path, "r");
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(magic.length), 0, magic.length, 0);
    return bytesRead === magic.length && buffer.toString("latin1") === magic;
  } finally {
    await file.close();
  }
}
