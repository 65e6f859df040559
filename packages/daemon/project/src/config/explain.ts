/** Turns schema issues into messages: what was expected, what was found, and the nearest valid name. */

import { didYouMean } from "@aegis/lib/nearest.ts";
import { z } from "zod";
import { type Finding, readPath } from "./combine.ts";
import { describeValue, type KeyPath } from "./problem.ts";
import { nameRule } from "./schema.ts";

export function explainIssues(schema: z.ZodType, value: unknown, issues: readonly z.core.$ZodIssue[]): Finding[] {
  return issues.flatMap((issue) => explainIssue(schema, value, issue));
}

/** The keys that a map at `path` may have, or null if any key is allowed. */
export function knownKeys(schema: z.ZodType, path: KeyPath): string[] | null {
  let current: unknown = unwrap(schema);
  for (const segment of path) {
    if (current instanceof z.ZodObject) current = unwrap(current.shape[String(segment)] ?? current.def.catchall);
    else if (current instanceof z.ZodRecord) current = unwrap(current.valueType);
    else if (current instanceof z.ZodArray) current = unwrap(current.element);
    else return null;
  }
  return current instanceof z.ZodObject ? Object.keys(current.shape) : null;
}

const expectedWords: Record<string, string> = {
  string: "text",
  number: "a number",
  int: "a whole number",
  boolean: "true or false",
  array: "a list",
  object: "a map",
  record: "a map",
};

function explainIssue(schema: z.ZodType, value: unknown, issue: z.core.$ZodIssue): Finding[] {
  const path = issue.path.map((segment) => (typeof segment === "number" ? segment : String(segment)));
  const found = readPath(value, path);
  if (issue.code === "unrecognized_keys") return issue.keys.map((key) => unknownKey(schema, path, key));
  if (issue.code === "invalid_key") {
    const rule = issue.issues[0]?.message ?? nameRule;
    return [{ path, at: "key", message: `${rule}, found "${path.at(-1) ?? ""}"` }];
  }
  const missing = found === undefined;
  const expected = expectation(issue, found);
  if (missing) return [{ path, at: "key", missing, message: `${expected}, found nothing` }];
  return [{ path, at: "value", message: `${expected}, found ${describeValue(found)}${hintFor(issue, found)}` }];
}

function unknownKey(schema: z.ZodType, parent: KeyPath, key: string): Finding {
  const known = knownKeys(schema, parent) ?? [];
  const near = didYouMean(key, known);
  const message = `unknown key "${key}"${near}; expected ${known.length > 1 ? "one of " : ""}${known.join(", ")}`;
  return { path: [...parent, key], at: "key", message };
}

function expectation(issue: z.core.$ZodIssue, found: unknown): string {
  switch (issue.code) {
    case "invalid_type":
      return hasOwnText(issue) ? issue.message : `expected ${expectedWords[issue.expected] ?? issue.expected}`;
    case "invalid_value":
      return `expected ${issue.values.length > 1 ? "one of " : ""}${issue.values.map(String).join(", ")}`;
    case "too_small":
      if (typeof found !== "number") return issue.message;
      return `expected ${issue.inclusive === false ? "more than" : "at least"} ${issue.minimum}`;
    case "too_big":
      return typeof found === "number" ? `expected at most ${issue.maximum}` : issue.message;
    default:
      return issue.message;
  }
}

/** Whether the schema says what it expects. The texts of zod begin in another way. */
function hasOwnText({ message }: z.core.$ZodIssue): boolean {
  return message.startsWith("expected ");
}

/** Quoted numbers and unquoted strings are the most common mistakes. */
function hintFor(issue: z.core.$ZodIssue, found: unknown): string {
  if (issue.code === "invalid_value" && typeof found === "string") return didYouMean(found, issue.values.map(String));
  if (issue.code !== "invalid_type" || hasOwnText(issue)) return "";
  if (issue.expected === "string" && ["number", "boolean"].includes(typeof found)) return " (put it in quotes)";
  if (["number", "int"].includes(issue.expected) && typeof found === "string" && /^\d+(\.\d+)?$/.test(found))
    return " (leave the quotes out)";
  return "";
}

function unwrap(schema: unknown): unknown {
  let current = schema;
  while (
    current instanceof z.ZodOptional ||
    current instanceof z.ZodDefault ||
    current instanceof z.ZodPrefault ||
    current instanceof z.ZodNullable
  )
    current = current.unwrap();
  return current;
}
