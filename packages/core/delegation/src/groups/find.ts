/** Finds groups by their names. */

import { unknownName } from "@aegis/agents/unknown-name.ts";
import type { AegisError } from "@aegis/contract/errors.ts";
import type { Group } from "@aegis/contract/group.ts";
import type { StoreReads } from "@aegis/store/store.ts";

/** Throws `not_found` with the nearest name. */
export async function liveGroup(read: Pick<StoreReads, "groups">, name: string): Promise<Group> {
  return (await read.groups.byName(name)) ?? Promise.reject(await unknownGroup(read, name));
}

/** Includes dissolved groups, whose replies can still be read. */
export async function newestGroup(read: Pick<StoreReads, "groups">, name: string): Promise<Group> {
  return (await read.groups.newest(name)) ?? Promise.reject(await unknownGroup(read, name));
}

async function unknownGroup(read: Pick<StoreReads, "groups">, name: string): Promise<AegisError> {
  const names = (await read.groups.list()).map((one) => one.name);
  return unknownName("group", name, names, "there is none");
}
