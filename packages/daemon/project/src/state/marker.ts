/** `.aegis/state/owner.json`: the owner of the state, signed with the owner's key. */
import { constants } from "node:fs";
import { open } from "node:fs/promises";
import { join } from "node:path";
import { isErrno, writeAtomic } from "@aegis/lib/files.ts";
import type { UserKey } from "@aegis/lib/user-key.ts";
import { isStateId } from "./project-records.ts";

/** `foreign`: a marker exists, but this user's key did not sign it. */
export type MarkerState = { state: "none" } | { state: "foreign" } | { state: "own"; id: string };

const fileName = "owner.json";
const maxBytes = 4_096;

export async function readMarker(dir: string, key: UserKey | null): Promise<MarkerState> {
  const text = await readSmall(join(dir, fileName));
  if (text === null) return { state: "none" };
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return { state: "foreign" };
  }
  if (typeof value !== "object" || value === null || !("id" in value) || !("proof" in value))
    return { state: "foreign" };
  const { id, proof } = value;
  return isStateId(id) && key?.verifies(proof, "state", id) === true ? { state: "own", id } : { state: "foreign" };
}

export async function writeMarker(dir: string, id: string, key: UserKey): Promise<void> {
  const marker = { state_version: 1, id, proof: key.sign("state", id) };
  await writeAtomic(join(dir, fileName), `${JSON.stringify(marker, null, 2)}\n`, { mode: 0o600 });
}

/** Returns an empty text for anything but a small regular file: a link, a folder or a pipe is not a valid marker. */
async function readSmall(path: string): Promise<string | null> {
  try {
    const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    try {
      const found = await file.stat();
      return found.isFile() && found.size <= maxBytes ? await file.readFile("utf8") : "";
    } finally {
      await file.close();
    }
  } catch (error) {
    if (isErrno(error, "ENOENT", "ENOTDIR")) return null;
    if (isErrno(error, "ELOOP", "ENXIO", "EISDIR")) return "";
    throw error;
  }
}
