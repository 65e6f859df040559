/** The fields of a form that starts a workflow, from its parameters. Pure. */
import type { WorkflowView } from "@aegis/contract/run.ts";

export type Parameter = WorkflowView["parameters"][number];

export type Field =
  | { kind: "text" }
  | { kind: "number" }
  /** A list: one value on each line. */
  | { kind: "lines" }
  | { kind: "choice"; options: readonly string[] };

const types = new Set(["string", "number", "integer", "boolean", "object", "array", "null", "any"]);

export function fieldOf({ type }: Parameter): Field {
  if (type === "boolean") return { kind: "choice", options: ["true", "false"] };
  if (type === "number" || type === "integer") return { kind: "number" };
  if (type.endsWith("...")) return { kind: "lines" };
  const words = type.split("|");
  // The values of an enumeration are joined in the same way as several types are.
  if (words.length > 1 && !words.some((word) => types.has(word))) return { kind: "choice", options: words };
  return { kind: "text" };
}

/** What a person reads beside the name. */
export function typeText(parameter: Parameter): string {
  const { kind } = fieldOf(parameter);
  if (kind === "choice") return "";
  return kind === "lines" ? `${parameter.type.slice(0, -3)}, one per line` : parameter.type;
}

export function defaultText({ default: value }: Parameter): string {
  if (value === undefined || value === null) return "";
  if (Array.isArray(value)) return value.join("\n");
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

/** What was typed, without empty fields: the workflow has a default for them, or says that one is missing. */
export function textArguments(
  parameters: readonly Parameter[],
  values: Readonly<Record<string, string>>,
): Record<string, string | string[]> {
  return Object.fromEntries(
    parameters.flatMap((parameter): [string, string | string[]][] => {
      const value = values[parameter.name] ?? "";
      if (value.trim() === "") return [];
      if (fieldOf(parameter).kind !== "lines") return [[parameter.name, value]];
      const lines = value.split("\n").map((line) => line.trim());
      return [[parameter.name, lines.filter((line) => line !== "")]];
    }),
  );
}
