/**
 * Settings for agents whose system-wide settings file can be named in the environment: it rules over the user's and
 * the project's, so a private copy sets what a driven session needs while home, login and all other settings stay.
 */
import { readFile } from "node:fs/promises";
import { isErrno } from "../../../lib/files.ts";
import { isObject, type Json } from "../../cli-harness/fields.ts";

/** What the administrator's file says, `{}` without one, null when it cannot be understood. */
export async function readSettings(path: string): Promise<Json | null> {
  try {
    const value: unknown = JSON.parse(await readFile(path, "utf8"));
    return isObject(value) ? value : null;
  } catch (error) {
    return isErrno(error, "ENOENT", "ENOTDIR") ? {} : null;
  }
}

/** `over` on top of `base`, object by object. */
export function mergeSettings(base: Json, over: Json): Json {
  const merged: Json = { ...base };
  for (const [key, value] of Object.entries(over)) {
    const before = merged[key];
    merged[key] = isObject(before) && isObject(value) ? mergeSettings(before, value) : value;
  }
  return merged;
}
