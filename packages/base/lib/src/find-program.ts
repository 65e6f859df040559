/** Finds a command in PATH. */
import { constants } from "node:fs";
import { access, stat } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { isErrno } from "./files.ts";

/** Returns the file that running `command` would start with the given PATH, or null if there is none. */
export async function findProgram(command: string, path: string): Promise<string | null> {
  const folders = command.includes("/") ? [""] : path.split(delimiter).filter((folder) => folder !== "");
  for (const folder of folders) {
    const file = join(folder, command);
    try {
      await access(file, constants.X_OK);
      if ((await stat(file)).isFile()) return file;
    } catch (error) {
      if (!isErrno(error, "ENOENT", "EACCES", "ENOTDIR", "ELOOP")) throw error;
    }
  }
  return null;
}
