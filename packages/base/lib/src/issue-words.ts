/** Turns schema validation issues into readable text. Every part of Aegis that reports such issues uses this module. */
import { didYouMean } from "./nearest.ts";

/** An issue as the schema library reports it. */
export type Issue = {
  code?: string;
  path: readonly PropertyKey[];
  message: string;
  /** Set for the code `unrecognized_keys`. */
  keys?: readonly string[];
};

export type FieldProblem = {
  /** For example `handle` or `entry.fires[0]`; empty if the whole value is invalid. */
  field: string;
  message: string;
};

export type IssueWords = {
  /** The valid names at the top level. */
  known: readonly string[];
  /** What a name refers to: `field`, `argument` or `option`. */
  noun: string;
};

export function fieldProblems(issues: readonly Issue[], words: IssueWords): FieldProblem[] {
  return issues.flatMap((issue) => problemsOf(issue, words));
}

/** The problem as part of a sentence. A message about an unknown name already contains the name. */
export function problemText({ field, message }: FieldProblem): string {
  return field === "" || message.startsWith("unknown ") ? message : `${field}: ${message}`;
}

function problemsOf(issue: Issue, { known, noun }: IssueWords): FieldProblem[] {
  const { code, path, message, keys = [] } = issue;
  if (code !== "unrecognized_keys") return [{ field: fieldName(path), message: plainMessage(message) }];
  return keys.map((key) => {
    const field = fieldName([...path, key]);
    const near = path.length === 0 ? didYouMean(key, known) : "";
    return { field, message: `unknown ${noun} "${field}"${near}` };
  });
}

/** Rewords the messages of the schema library, which name its own checks: `Too big: expected string to have <=80 …`. */
export function plainMessage(message: string): string {
  // A query parameter is text: the schema converts it first, and reports the result of the conversion.
  if (message.endsWith("received NaN")) return "expected a number";
  if (message.endsWith(", received undefined")) return "it is missing";
  return message
    .replace(/^(?:Invalid (?:input|option)|Too (?:big|small)): /, "")
    .replace(/ to (?:have|be) (<=?|>=?)/, (_, sign: string) => ` of ${bounds[sign]} `);
}

const bounds: Readonly<Record<string, string>> = {
  "<=": "at most",
  "<": "less than",
  ">=": "at least",
  ">": "more than",
};

function fieldName(path: readonly PropertyKey[]): string {
  return path.reduce<string>((name, part) => {
    if (typeof part === "number") return `${name}[${part}]`;
    return name === "" ? String(part) : `${name}.${String(part)}`;
  }, "");
}
