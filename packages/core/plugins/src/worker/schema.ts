/** Converts a tool's input declaration to JSON Schema, in any form that authors use. */
import type { StandardIssue, StandardSchema, ToolInput } from "@aegis/plugin-api/tool.ts";

type Fields = Record<string, unknown>;
export type InputSchema = { schema: Fields; check: StandardSchema["~standard"]["validate"] | null };

const keywords: readonly string[] = ["type", "properties", "$ref", "anyOf", "oneOf", "allOf", "$schema"];

/** Throws a `TypeError` that says what was expected. */
export function inputSchema(tool: string, input: ToolInput | undefined): InputSchema {
  if (input === undefined) return { schema: { type: "object", properties: {} }, check: null };
  if (isStandard(input)) {
    const { jsonSchema, validate } = input["~standard"];
    if (jsonSchema === undefined)
      throw new TypeError(
        `the input of the tool "${tool}" cannot be expressed as JSON Schema: use z from "aegis", or pass a JSON Schema`,
      );
    const options = { target: "draft-2020-12", libraryOptions: { override: widenCoerced } };
    return { schema: asObject(tool, jsonSchema.input(options)), check: validate };
  }
  const isSchema = keywords.some((key) => key in input) && (typeof input.type === "string" || !("type" in input));
  return { schema: asObject(tool, isSchema ? { ...input } : fromMap(input)), check: null };
}

/** What `z.coerce` converts is accepted as it is sent; the check in the worker converts it. */
const coerced: Readonly<Record<string, readonly string[]>> = {
  number: ["number", "string"],
  integer: ["integer", "string"],
  boolean: ["boolean", "string"],
  string: ["string", "number", "boolean"],
};

type Overridden = { zodSchema: { _zod: { def: object } }; jsonSchema: Fields };

function widenCoerced({ zodSchema, jsonSchema }: Overridden): void {
  const { def } = zodSchema._zod;
  if (!("coerce" in def) || def.coerce !== true || typeof jsonSchema.type !== "string") return;
  if (Object.hasOwn(coerced, jsonSchema.type)) jsonSchema.type = coerced[jsonSchema.type];
}

/** The JSON Schema of a workflow's zod object. */
export function workflowSchema(name: string, input: object | null): Fields | null {
  return input === null ? null : inputSchema(`input of ${name}`, input as ToolInput).schema;
}

export function issueText(issues: readonly StandardIssue[]): string {
  return issues
    .map(({ message, path = [] }) => {
      const keys = path.map((part) => String(typeof part === "object" ? part.key : part));
      return `${keys.join(".") || "input"}: ${message}`;
    })
    .join("; ");
}

function isStandard(input: ToolInput): input is StandardSchema {
  return "~standard" in input;
}

function asObject(tool: string, schema: Fields): Fields {
  const { $schema: _, ...rest } = schema;
  const full = rest.type === undefined && "properties" in rest ? { type: "object", ...rest } : rest;
  if (full.type !== "object")
    throw new TypeError(`the input of the tool "${tool}" should be an object, not ${JSON.stringify(full.type)}`);
  return JSON.parse(JSON.stringify(full)) as Fields;
}

/** A map of parameters: each a JSON Schema or the name of a type; all required except those with a default. */
function fromMap(map: Readonly<Fields>): Fields {
  const required: string[] = [];
  const properties: Fields = {};
  for (const [name, value] of Object.entries(map)) {
    const entry: Fields = typeof value === "string" ? { type: value } : { ...(value as Fields) };
    const isOptional = entry.required === false || entry.optional === true || "default" in entry;
    if (typeof entry.required === "boolean") delete entry.required;
    delete entry.optional;
    if (!isOptional) required.push(name);
    properties[name] = entry;
  }
  return { type: "object", properties, ...(required.length === 0 ? {} : { required }) };
}
