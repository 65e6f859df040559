/** `skills.lock`: what was installed, from where, and a hash over its files. Made to be read and kept in git. */
import { readFile } from "node:fs/promises";
import { z } from "zod";
import { AegisError } from "../../../contract/errors.ts";
import { type InstalledSkill, installedSkillSchema } from "../../../contract/skill-install.ts";
import { isErrno, writeAtomic } from "../../../lib/files.ts";

/** By the name of the folder. */
export type Lock = ReadonlyMap<string, InstalledSkill>;

const fileSchema = z.object({ version: z.literal(1), skills: z.record(z.string(), installedSkillSchema) });

/** Throws `invalid` for a file that is not one of ours: what it says must not be lost. */
export async function readLock(path: string): Promise<Lock> {
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (error) {
    if (isErrno(error, "ENOENT")) return new Map();
    throw error;
  }
  try {
    return new Map(Object.entries(fileSchema.parse(JSON.parse(text)).skills));
  } catch (error) {
    throw new AegisError("invalid", `${path} is no lockfile of skills`, {
      hint: "bring back an earlier version of it, or move it away to begin a new one",
      cause: error,
    });
  }
}

/** Sets one entry, or removes it with null. */
export async function writeLock(path: string, folder: string, entry: InstalledSkill | null): Promise<void> {
  const skills = new Map(await readLock(path));
  if (entry === null) skills.delete(folder);
  else skills.set(folder, entry);
  const sorted = [...skills].sort(([a], [b]) => (a < b ? -1 : 1));
  await writeAtomic(path, `${JSON.stringify({ version: 1, skills: Object.fromEntries(sorted) }, null, 2)}\n`);
}
