/**
 * The user's key, in `~/.aegis/key`. Aegis signs the files that it stores in a project and later acts on, so that it
 * can tell them from files that came with the folder. Uses only Node modules, because every CLI command reads
 * `daemon.json`.
 */
import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import { link, open, readFile, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { isErrno, makePrivateDir, syncFolder } from "./files.ts";

/** The purpose of a signature. A signature is valid for one purpose only. */
type Purpose = "daemon" | "state" | "install" | "web";

export interface UserKey {
  sign(purpose: Purpose, ...parts: readonly string[]): string;
  /** Returns whether this key signed exactly these parts for this purpose. */
  verifies(proof: unknown, purpose: Purpose, ...parts: readonly string[]): boolean;
}

const keyBytes = 32;
const keyText = /^[0-9a-f]{64}\n?$/;

export function userKeyPath(home: string): string {
  return join(home, ".aegis", "key");
}

/** Returns null if the user has no key yet. Throws if the file is unusable. */
export async function findUserKey(home: string): Promise<UserKey | null> {
  const path = userKeyPath(home);
  let text: string;
  try {
    const { mode } = await stat(path);
    if ((mode & 0o077) !== 0)
      throw new Error(`${path} can be read by other users (mode ${(mode & 0o777).toString(8)}): chmod 600 ${path}`);
    text = await readFile(path, "latin1");
  } catch (error) {
    if (isErrno(error, "ENOENT", "ENOTDIR")) return null;
    throw error;
  }
  if (!keyText.test(text)) throw new Error(`${path} is not a key of Aegis: expected ${2 * keyBytes} hex digits`);
  return keyOf(Buffer.from(text.trim(), "hex"));
}

/** Creates the key if the user has none. */
export async function openUserKey(home: string): Promise<UserKey> {
  const found = await findUserKey(home);
  if (found !== null) return found;
  await create(userKeyPath(home));
  const made = await findUserKey(home);
  if (made === null) throw new Error(`${userKeyPath(home)} disappeared right after it was created`);
  return made;
}

/** `link` succeeds once: if several processes create the key at the same time, all use the first one. */
async function create(path: string): Promise<void> {
  await makePrivateDir(dirname(path));
  const temporary = `${path}.${randomBytes(6).toString("hex")}.tmp`;
  try {
    const file = await open(temporary, "wx", 0o600);
    try {
      await file.writeFile(`${randomBytes(keyBytes).toString("hex")}\n`);
      await file.sync();
    } finally {
      await file.close();
    }
    await link(temporary, path).catch((error: unknown) => {
      if (!isErrno(error, "EEXIST")) throw error;
    });
  } finally {
    await rm(temporary, { force: true });
  }
  await syncFolder(dirname(path));
}

function keyOf(key: Buffer): UserKey {
  const sign: UserKey["sign"] = (purpose, ...parts) =>
    createHmac("sha256", key)
      .update(JSON.stringify(["aegis", purpose, ...parts]))
      .digest("hex");
  return {
    sign,
    verifies(proof, purpose, ...parts) {
      if (typeof proof !== "string") return false;
      const [given, expected] = [Buffer.from(proof), Buffer.from(sign(purpose, ...parts))];
      return given.length === expected.length && timingSafeEqual(given, expected);
    },
  };
}
