/** Parses a workflow's arguments: `--name value`, `--name=value`, `--flag`. A repeated name makes a list. */
import { usageError } from "../../program/failure.ts";

export type TypedArguments = { values: Record<string, string | string[]>; wantsHelp: boolean };

export function typedArguments(words: readonly string[]): TypedArguments {
  const values: Record<string, string | string[]> = {};
  let wantsHelp = false;
  for (let index = 0; index < words.length; index++) {
    const word = words[index] ?? "";
    if (word === "--help" || word === "-h") {
      wantsHelp = true;
      continue;
    }
    const match = /^--([a-z][a-z0-9_-]*)(?:=(.*))?$/isu.exec(word);
    if (match === null)
      throw usageError(`"${word}" is not an argument of a workflow`, "give arguments as --name value");
    const name = (match[1] ?? "").replaceAll("-", "_");
    const next = words[index + 1];
    const takesNext = match[2] === undefined && next !== undefined && !next.startsWith("--");
    const value = match[2] ?? (takesNext ? next : "");
    if (takesNext) index += 1;
    const before = values[name];
    values[name] = before === undefined ? value : [before, value].flat();
  }
  return { values, wantsHelp };
}

export function jsonArguments(text: string | undefined): Record<string, unknown> {
  if (text === undefined) return {};
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw usageError(`--kwargs is not JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  throw usageError('--kwargs must be a JSON object, as in {"name": "value"}');
}
