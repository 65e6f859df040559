/** What a tool takes: a zod object for Aegis's own, a JSON Schema for tools that come from elsewhere. */
import { z } from "zod";
import { AegisError } from "../../contract/errors.ts";
import { errorText } from "../../lib/log.ts";

export type JsonInput = {
  schema: Record<string, unknown>;
  /** Null when whoever runs the tool checks its input. */
  check: z.ZodType | null;
};

export type ToolInput = z.ZodObject | JsonInput;

/** Throws `invalid` for a schema that cannot be understood. */
export function jsonInput(schema: Record<string, unknown>): JsonInput {
  try {
    return { schema, check: z.fromJSONSchema(schema as Parameters<typeof z.fromJSONSchema>[0]) };
  } catch (error) {
    throw new AegisError("invalid", `the schema of its input cannot be used: ${errorText(error)}`);
  }
}

export function schemaOf(input: ToolInput): Record<string, unknown> {
  return input instanceof z.ZodObject
    ? (z.toJSONSchema(input, { io: "input" }) as Record<string, unknown>)
    : input.schema;
}

/** The input as the tool gets it. Throws `invalid` with everything that is wrong. */
export function parseInput(tool: string, input: ToolInput, value: unknown): unknown {
  const check = input instanceof z.ZodObject ? input : input.check;
  if (check === null) return value ?? {};
  const parsed = check.safeParse(value ?? {});
  if (parsed.success) return parsed.data;
  const problems = parsed.error.issues.map((issue) => `${issue.path.join(".") || "input"}: ${issue.message}`);
  throw new AegisError("invalid", `wrong input for ${tool}: ${problems.join("; ")}`);
}
