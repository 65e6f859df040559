/** A problem in a config file and its location. */
import type { AegisError } from "@aegis/contract/errors.ts";

export type ConfigProblem = {
  /** Relative to the project's folder. */
  file: string;
  /** Line and column are 1-based. */
  line: number;
  column: number;
  /** The key path, such as `agents.dev.model`; empty for the whole file. */
  key: string;
  message: string;
};

/** Map keys and list positions from the top of the configuration. */
export type KeyPath = readonly (string | number)[];

export function formatProblem(problem: ConfigProblem): string {
  const key = problem.key === "" ? "" : ` ${problem.key}`;
  return `${problem.file}:${problem.line}:${problem.column}${key}: ${problem.message}`;
}

export function formatPath(path: KeyPath): string {
  return path.join(".");
}

/** The problems because of which an edit was refused. */
export function problemsOf(error: AegisError): ConfigProblem[] {
  const { details } = error;
  if (typeof details !== "object" || details === null || !("problems" in details)) return [];
  return details.problems as ConfigProblem[];
}

/** Sorts problems by file and position and removes duplicates. */
export function sortProblems(problems: readonly ConfigProblem[]): ConfigProblem[] {
  const unique = new Map(problems.map((problem) => [formatProblem(problem), problem]));
  return [...unique.values()].sort(
    (a, b) => compareText(a.file, b.file) || a.line - b.line || a.column - b.column || compareText(a.key, b.key),
  );
}

/** Formats a value in YAML notation, shortened to one line. */
export function describeValue(value: unknown): string {
  if (value === undefined || value === null) return "nothing";
  if (typeof value === "string")
    return value.length > 60 ? `${JSON.stringify(value.slice(0, 57))}…` : JSON.stringify(value);
  if (Array.isArray(value)) return value.length === 0 ? "an empty list" : "a list";
  if (typeof value === "object") return "a map";
  return String(value);
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
