/** The user's settings of the terminal app, `~/.aegis/terminal.yaml`: keys and notifications. */

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { ifMissing } from "@aegis/lib/files.ts";
import { isRecord } from "@aegis/lib/is-record.ts";
import { didYouMean } from "@aegis/lib/nearest.ts";
import { parse } from "yaml";
import { usageError } from "../../program/failure.ts";

export type TerminalSettings = {
  notify: "off" | "bell" | "all";
  /** Action id → keys. */
  keys: Record<string, string | string[]>;
};

const known = ["notify", "keys"];
const notifyValues = ["off", "bell", "all"] as const;

export function terminalSettingsPath(home: string): string {
  return join(home, ".aegis", "terminal.yaml");
}

/** Throws an error that names the file and the key if the file is not valid. The keys' names are checked later. */
export async function readTerminalSettings(home: string): Promise<TerminalSettings> {
  const path = terminalSettingsPath(home);
  const settings: TerminalSettings = { notify: "all", keys: {} };
  const text = await readFile(path, "utf8").catch(ifMissing(null));
  if (text === null) return settings;
  const fail = (problem: string) => usageError(`${path}: ${problem}`, "see docs/terminal.md");
  let value: unknown;
  try {
    value = parse(text);
  } catch (error) {
    throw fail(error instanceof Error ? error.message : String(error));
  }
  if (value === null || value === undefined) return settings;
  if (!isRecord(value)) throw fail("expected a mapping with the keys notify and keys");
  const unknown = Object.keys(value).find((key) => !known.includes(key));
  if (unknown !== undefined) throw fail(`unknown key ${unknown}${didYouMean(unknown, known)}`);
  // YAML 1.1 files may write `off` as false.
  const notify = value.notify === false ? "off" : (value.notify ?? "all");
  const found = notifyValues.find((one) => one === notify);
  if (found === undefined) throw fail(`notify: expected off, bell or all, got ${String(notify)}`);
  return { notify: found, keys: keysIn(value.keys ?? {}, fail) };
}

function keysIn(value: unknown, fail: (problem: string) => Error): TerminalSettings["keys"] {
  if (!isRecord(value)) throw fail("keys: expected a mapping from actions to keys");
  const keys: TerminalSettings["keys"] = {};
  for (const [action, wanted] of Object.entries(value)) {
    const list = Array.isArray(wanted) ? wanted : [wanted];
    if (!list.every((key): key is string => typeof key === "string"))
      throw fail(`keys.${action}: expected a key such as ctrl+g, or a list of keys`);
    keys[action] = list;
  }
  return keys;
}
