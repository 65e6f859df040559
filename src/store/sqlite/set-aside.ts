/** Moves a damaged database out of the way, whole, so that nothing of it is lost and a new one can begin. */
import { existsSync } from "node:fs";
import { rename, rm } from "node:fs/promises";
import { storeError } from "./errors.ts";
import { sideFiles, suspectMark } from "./inspect.ts";

/** Gives back the new name of the database file; its log keeps the name SQLite looks for beside it. */
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
