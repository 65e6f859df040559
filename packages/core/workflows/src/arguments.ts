/** A workflow's arguments: validates them against the schema, parses typed text and describes them. */

import { AegisError } from "@aegis/contract/errors.ts";
import type { WorkflowView } from "@aegis/contract/run.ts";
import { fieldProblems, problemText } from "@aegis/lib/issue-words.ts";
import type { Workflow } from "@aegis/plugin-api/workflow.ts";
import { z } from "zod";

export type TextArguments = Readonly<Record<string, string | readonly string[]>>;

type PropertySchema = {
  type?: string | string[];
  description?: string;
  default?: unknown;
  enum?: unknown[];
  items?: PropertySchema;
  anyOf?: PropertySchema[];
};

const nothing = z.object({});

type Described = Pick<Workflow, "name" | "description" | "config" | "input"> & { schema?: Record<string, unknown> };

/** Created once per workflow: converting its schema costs far more than validating with it. */
export class Arguments {
  readonly #of: Described;
  readonly #input: z.ZodObject;
  readonly #schema: Record<string, unknown>;
  readonly #properties: Readonly<Record<string, PropertySchema>>;

  constructor(workflow: Described) {
    const input = workflow.input ?? nothing;
    const own = jsonSchema(input);
    this.#of = workflow;
    this.#input = input.strict();
    this.#schema = workflow.schema ?? own;
    this.#properties = (own.properties ?? {}) as Record<string, PropertySchema>;
  }

  /** Returns the arguments for the body. Throws `invalid` with all problems. */
  check(args: Readonly<Record<string, unknown>>, typed: TextArguments = {}): Record<string, unknown> {
    const properties = this.#properties;
    const problems: string[] = [];
    const given: Record<string, unknown> = { ...args };
    for (const [key, value] of Object.entries(typed)) {
      if (key in args) problems.push(`${key} is given twice`);
      try {
        given[key] = fromText(value, properties[key]);
      } catch (error) {
        problems.push(`${key}: ${error instanceof Error ? error.message : String(error)}`);
      }
    }
    const parsed = this.#input.safeParse(given, { reportInput: true });
    if (!parsed.success)
      problems.push(...parsed.error.issues.flatMap((issue) => describe(issue, Object.keys(properties))));
    if (parsed.success && problems.length === 0) return parsed.data;
    throw new AegisError("invalid", `wrong arguments for ${this.#of.name}: ${problems.join("; ")}`, {
      hint: Object.keys(properties).length === 0 ? "it takes none" : `it takes ${usage(properties)}`,
    });
  }

  view(source: string): WorkflowView {
    const { name, description, config } = this.#of;
    const schema = this.#schema;
    const required = new Set(Array.isArray(schema.required) ? (schema.required as string[]) : []);
    const parameters = Object.entries(this.#properties).map(([parameter, property]) => ({
      name: parameter,
      type: typeName(property),
      description: property.description ?? "",
      required: required.has(parameter),
      default: property.default ?? null,
    }));
    return { name, description, source, parameters, schema, config: { ...config } };
  }
}

function usage(properties: Readonly<Record<string, PropertySchema>>): string {
  return Object.entries(properties)
    .map(([name, property]) => `--${name.replaceAll("_", "-")} <${typeName(property)}>`)
    .join(" ");
}

function describe(issue: z.core.$ZodIssue, known: readonly string[]): string[] {
  return fieldProblems([issue], { known, noun: "argument" }).map((problem) => {
    const where = problem.field || "arguments";
    if (issue.code === "invalid_type" && issue.input === undefined) return `${where} is missing`;
    return problemText({ ...problem, field: where });
  });
}

function jsonSchema(input: z.ZodObject): Record<string, unknown> {
  return z.toJSONSchema(input, { io: "input", unrepresentable: "any" }) as Record<string, unknown>;
}

function typeName(property: PropertySchema): string {
  const { enum: values, items, anyOf } = property;
  const type = property.type ?? anyOf?.flatMap((one) => one.type ?? []);
  if (values) return values.map(String).join("|");
  if (type === "array") return `${items ? typeName(items) : "any"}...`;
  return (Array.isArray(type) ? type.join("|") : type) || "any";
}

function fromText(value: string | readonly string[], property: PropertySchema | undefined): unknown {
  const all = property?.type ?? property?.anyOf?.flatMap((one) => one.type ?? []);
  const type = Array.isArray(all) ? all[0] : all;
  const isTextToo = Array.isArray(all) && all.includes("string");
  if (type === "array") return [value].flat().map((item) => fromText(item, property?.items));
  if (typeof value !== "string") throw new Error("expected one value");
  if (type === "number" || type === "integer") {
    const number = Number(value);
    const isNumber = value.trim() !== "" && Number.isFinite(number);
    if (!isNumber && isTextToo) return value;
    if (!isNumber) throw new Error(`expected a number, not "${value}"`);
    return number;
  }
  if (type === "boolean") {
    if (value === "true" || value === "") return true;
    if (value === "false") return false;
    if (isTextToo) return value;
    throw new Error(`expected true or false, not "${value}"`);
  }
  if (type === "object") return JSON.parse(value) as unknown;
  return value;
}
