/** Moves a damaged database aside as a whole, so that no data is lost and a new database can be created. */
import { existsSync } from "node:fs";
import { rename, rm } from "node:fs/promises";
import { storeError } from "./errors.ts";
import { sideFiles, suspectMark } from "./inspect.ts";

/** Returns the new name of the database file. Its log gets the matching name that SQLite expects. */
export async function setAside(path: string, now: number): Promise<string> {
  const target = freeName(`${path}.corrupt-${new Date(now).toISOString().replace(/[-:]|\.\d+/g, "")}`);
  try {
    for (const suffix of ["", ...sideFiles])
      if (existsSync(path + suffix)) await rename(path + suffix, target + suffix);
    await rm(suspectMark(path), { force: true });
  } catch (error) {
    throw storeError(error, path);
  }
  return target;
}

function freeName(wanted: string): string {
  const taken = (name: string) => ["", ...sideFiles].some((suffix) => existsSync(name + suffix));
  let name = wanted;
  for (let n = 2; taken(name); n++) name = `${wanted}-${n}`;
  return name;
}
