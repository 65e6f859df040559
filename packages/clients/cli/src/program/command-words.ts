/** Rewrites the daemon's validation errors in terms of the command: `--handle`, `<session>`. */
import { AegisError, isAegisError } from "@aegis/contract/errors.ts";
import { problemText } from "@aegis/lib/issue-words.ts";
import type { CommandSpec } from "./command.ts";

type Words = Pick<CommandSpec, "arguments" | "options">;

/** Returns the error with request fields replaced by the option or argument that sets them. */
export function inCommandWords(error: unknown, command: Words): unknown {
  if (!isAegisError(error)) return error;
  const problems = problemsIn(error.details);
  if (problems.length === 0) return error;
  const text = problems
    .map((problem) => problemText({ ...problem, field: nameFor(problem.field, command) }))
    .join("; ");
  const { code, hint, details } = error;
  return new AegisError(code, text, { ...(hint === undefined ? {} : { hint }), details, cause: error });
}

function nameFor(field: string, command: Words): string {
  const [, name = field] = /^([^.[]+)/.exec(field) ?? [];
  const written = name.replaceAll("_", "-");
  for (const { flags } of command.options) {
    const long = /--(?:no-)?([\w-]+)/.exec(flags)?.[1];
    const value = /[<[]([\w-]+)/.exec(flags)?.[1];
    if (long !== undefined && (long === written || value === written)) return `--${long}`;
  }
  // A path names what an id identifies: `run_id` is the argument `<run>`.
  const named = [written, written.replace(/-id$/, "")];
  const argument = command.arguments.find(({ synopsis }) => named.includes(synopsis.replace(/[<>[\].]/g, "")));
  return argument?.synopsis ?? field;
}

function problemsIn(details: unknown): { field: string; message: string }[] {
  if (typeof details !== "object" || details === null || !("problems" in details)) return [];
  const { problems } = details;
  return Array.isArray(problems) && problems.every(isProblem) ? problems : [];
}

function isProblem(value: unknown): value is { field: string; message: string } {
  if (typeof value !== "object" || value === null) return false;
  return "field" in value && typeof value.field === "string" && "message" in value && typeof value.message === "string";
}
