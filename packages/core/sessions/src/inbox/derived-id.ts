/** Derives ids from a key, so that repeating a side effect after a crash uses the same id and adds nothing. */
import { createHash } from "node:crypto";
import type { Id, IdPrefix } from "@aegis/contract/ids.ts";

const alphabet = "0123456789abcdefghjkmnpqrstvwxyz";
const idLength = 26;

export function derivedId<P extends IdPrefix>(prefix: P, key: string): Id<P> {
  const bytes = createHash("sha256").update(key).digest();
  let text = "";
  for (const byte of bytes.subarray(0, idLength)) text += alphabet[byte & 31];
  return `${prefix}_${text}` as Id<P>;
}

/**
 * The id of what a step waits for. If the step was given up, so that this was taken back, and is requested again, it gets
 * the next id of the key: the old one would be found as it is, taken back.
 */
export async function wantedId<P extends IdPrefix>(
  prefix: P,
  key: string,
  isWanted: (id: Id<P>) => Promise<boolean>,
): Promise<Id<P>> {
  let id = derivedId(prefix, key);
  for (let time = 2; !(await isWanted(id)); time++) id = derivedId(prefix, `${key}/${time}`);
  return id;
}
