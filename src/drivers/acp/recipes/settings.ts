/** Settings files of agents: JSON with comments. Aegis reads the user's file and changes a copy. */
import { readFile } from "node:fs/promises";
import { isErrno } from "../../../lib/files.ts";
import { errorText } from "../../../lib/log.ts";
import { isObject, type Json } from "../../cli-harness/fields.ts";
import { DriverError } from "../../driver.ts";

/** Null if the file does not exist. A broken file is an error: a session without it would have other rights. */
export async function readSettings(path: string): Promise<Json | null> {
  try {
    const value: unknown = parseSettings(await readFile(path, "utf8"));
    if (isObject(value)) return value;
    throw new Error("expected a JSON object");
  } catch (cause) {
    if (isErrno(cause, "ENOENT", "ENOTDIR")) return null;
    throw new DriverError({ code: "start", message: `${path} cannot be read: ${errorText(cause)}` }, { cause });
  }
}

/** JSON as agents accept it: with comments and trailing commas. */
export function parseSettings(text: string): unknown {
  const json = plainJson(text).trim();
  return json === "" ? {} : JSON.parse(json);
}

/** Merges `over` into `base`, object by object. */
export function mergeSettings(base: Json, over: Json): Json {
  const merged: Json = { ...base };
  for (const [key, value] of Object.entries(over)) {
    const before = merged[key];
    merged[key] = isObject(before) && isObject(value) ? mergeSettings(before, value) : value;
  }
  return merged;
}

/** Removes comments and trailing commas. Strings are matched too, so that they stay unchanged. */
function plainJson(text: string): string {
  const comments = /"(?:\\.|[^"\\])*"|\/\/[^\n]*|\/\*[\s\S]*?\*\//g;
  const commas = /"(?:\\.|[^"\\])*"|,(?=\s*[}\]])/g;
  const keepStrings = (found: string) => (found.startsWith('"') ? found : "");
  return text.replace(comments, keepStrings).replace(commas, keepStrings);
}
