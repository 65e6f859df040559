/** Finds groups by their names. */
import { AegisError } from "../../contract/errors.ts";
import type { Group } from "../../contract/group.ts";
import { didYouMean } from "../../lib/nearest.ts";
import type { StoreReads } from "../../store/store.ts";

/** Throws `not_found` with the nearest name. */
export async function liveGroup(read: Pick<StoreReads, "groups">, name: string): Promise<Group> {
  return (await read.groups.byName(name)) ?? (await refuse(read, name));
}

/** Includes dissolved groups, whose replies can still be read. */
export async function newestGroup(read: Pick<StoreReads, "groups">, name: string): Promise<Group> {
  return (await read.groups.newest(name)) ?? (await refuse(read, name));
}

async function refuse(read: Pick<StoreReads, "groups">, name: string): Promise<never> {
  const names = (await read.groups.list()).map((one) => one.name);
  throw new AegisError("not_found", `no group "${name}"${didYouMean(name, names)}`, {
    hint: names.length === 0 ? "there is none" : `groups here: ${names.join(", ")}`,
  });
}
