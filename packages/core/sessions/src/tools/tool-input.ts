/** The input schema of a tool: a zod object for built-in tools, a JSON Schema for other tools. */

import { AegisError } from "@aegis/contract/errors.ts";
import { fieldProblems, problemText } from "@aegis/lib/issue-words.ts";
import { errorText } from "@aegis/lib/log.ts";
import { z } from "zod";

export type JsonInput = {
  schema: Record<string, unknown>;
  /** Null if the runner of the tool checks its input. */
  check: z.ZodType | null;
};

export type AgentToolInput = z.ZodObject | JsonInput;

/** Throws `invalid` for an unsupported schema. */
export function jsonInput(schema: Record<string, unknown>): JsonInput {
  try {
    return { schema, check: z.fromJSONSchema(schema as Parameters<typeof z.fromJSONSchema>[0]) };
  } catch (error) {
    throw new AegisError("invalid", `the schema of its input cannot be used: ${errorText(error)}`);
  }
}

export function schemaOf(input: AgentToolInput): Record<string, unknown> {
  if (!(input instanceof z.ZodObject)) return input.schema;
  // Some harnesses refuse a schema with `additionalProperties`. Calls with unknown arguments are refused anyway.
  const { additionalProperties: _, ...schema } = z.toJSONSchema(input, { io: "input" }) as Record<string, unknown>;
  return schema;
}

/** Returns the parsed input. Throws `invalid` with all problems. */
export function parseInput(tool: string, input: AgentToolInput, value: unknown): unknown {
  const check = input instanceof z.ZodObject ? input : input.check;
  if (check === null) return value ?? {};
  const parsed = check.safeParse(value ?? {});
  if (parsed.success) return parsed.data;
  const known = check instanceof z.ZodObject ? Object.keys(check.shape) : [];
  const problems = fieldProblems(parsed.error.issues, { known, noun: "argument" }).map(problemText);
  const takes = check instanceof z.ZodObject ? `it takes ${known.join(", ") || "no arguments"}` : null;
  throw new AegisError(
    "invalid",
    `wrong input for ${tool}: ${problems.join("; ")}`,
    takes === null ? {} : { hint: takes },
  );
}
