/** Clears the folders in which version 0.1 prepared skills, after a crash of that version. */
import { readdir, readFile, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { exists, isErrno } from "@aegis/lib/files.ts";
import { type InstallPlace, packageFolder } from "../place.ts";

/** Puts a skill back that the crash left in a stage, and deletes the stages. Call it with exclusive use of the place. */
export async function clearOldStages(place: InstallPlace, stages: string): Promise<void> {
  for (const name of await readdir(stages)) {
    const old = join(stages, name, "old");
    const folder = await changedFolder(join(stages, name, "change.json"));
    if (folder === null || !(await exists(old))) continue;
    const target = join(place.root, packageFolder(place, "skill", folder));
    if (!(await exists(target))) await rename(old, target);
  }
  await rm(stages, { recursive: true, force: true });
}

/** Null if nothing had moved, or if the file names something outside the skills. */
async function changedFolder(file: string): Promise<string | null> {
  try {
    const { folder } = JSON.parse(await readFile(file, "utf8"));
    return typeof folder === "string" && /^(?!\.{1,2}$)[^/\\\0]+$/.test(folder) ? folder : null;
  } catch (error) {
    if (isErrno(error, "ENOENT", "ENOTDIR") || error instanceof SyntaxError || error instanceof TypeError) return null;
    throw error;
  }
}
