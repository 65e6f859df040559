/** Skills that were installed: found by name, and compared with what they were. */
import { join } from "node:path";
import { AegisError } from "../../../contract/errors.ts";
import type { InstalledSkill, InstalledSkillView } from "../../../contract/skill-install.ts";
import { didYouMean } from "../../../lib/nearest.ts";
import { skillKey } from "../skill.ts";
import { exists, type InstallPlace, skillHash } from "./activation.ts";
import { readLock } from "./lockfile.ts";

/** By the skill's name or its folder's. Throws `not_found` with the nearest one. */
export async function findInstalled(
  place: InstallPlace,
  name: string,
): Promise<{ folder: string; entry: InstalledSkill }> {
  const lock = await readLock(place.lock);
  const key = skillKey(name);
  for (const [folder, entry] of lock)
    if (skillKey(folder) === key || skillKey(entry.name) === key) return { folder, entry };
  const names = [...lock.values()].map((entry) => entry.name);
  const hint = place.scope === "project" ? "`--user` means those of the user" : "without `--user` those of the project";
  throw new AegisError("not_found", `no installed skill "${name}"${didYouMean(name, names)}`, { hint });
}

export async function viewOf(place: InstallPlace, folder: string, entry: InstalledSkill): Promise<InstalledSkillView> {
  const path = join(place.skills, folder);
  const state = !(await exists(path)) ? "missing" : (await skillHash(path)) === entry.hash ? "intact" : "edited";
  return { ...entry, scope: place.scope, folder: path, state };
}

export function edited(folder: string, what: "removed" | "replaced"): AegisError {
  return new AegisError("conflict", `${folder} was edited since it was installed; it is not ${what}`, {
    hint: "keep the edits elsewhere, or use --force to lose them",
  });
}
