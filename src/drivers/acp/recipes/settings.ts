/** Settings files of agents: JSON with comments, read from where the user has them and changed in a copy. */
import { readFile } from "node:fs/promises";
import { isErrno } from "../../../lib/files.ts";
import { errorText } from "../../../lib/log.ts";
import { isObject, type Json } from "../../cli-harness/fields.ts";
import { DriverError } from "../../driver.ts";

/** Null when there is no such file. A broken one is an error: a session without it would have other rights. */
export async function readSettings(path: string): Promise<Json | null> {
  try {
    const value: unknown = parseSettings(await readFile(path, "utf8"));
    if (isObject(value)) return value;
    throw new Error("it holds no JSON object");
  } catch (cause) {
    if (isErrno(cause, "ENOENT", "ENOTDIR")) return null;
    throw new DriverError({ code: "start", message: `${path} cannot be read: ${errorText(cause)}` }, { cause });
  }
}

/** JSON as agents take it: with comments, and commas at the end of lists. */
export function parseSettings(text: string): unknown {
  const json = plainJson(text).trim();
  return json === "" ? {} : JSON.parse(json);
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

/** JSON without comments and commas before a closing bracket. Strings are matched too, so that they stay as they are. */
function plainJson(text: string): string {
  const comments = /"(?:\\.|[^"\\])*"|\/\/[^\n]*|\/\*[\s\S]*?\*\//g;
  const commas = /"(?:\\.|[^"\\])*"|,(?=\s*[}\]])/g;
  const keepStrings = (found: string) => (found.startsWith('"') ? found : "");
  return text.replace(comments, keepStrings).replace(commas, keepStrings);
}
