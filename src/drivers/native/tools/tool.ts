/** What a tool of the native agent is. */
import { z } from "zod";
import type { ToolKind, TurnItems } from "../../../contract/turn.ts";
import type { Clock } from "../../../lib/clock.ts";
import type { Processes } from "../../../lib/process.ts";
import type { SeenFiles } from "./seen-files.ts";

/** What a call does to the world; the agent's permission is decided by it. */
export type Effect = "read" | "edit" | "execute" | "network" | "plane";

export interface Tool {
  readonly name: string;
  readonly description: string;
  readonly kind: ToolKind;
  readonly effect: Effect;
  /** It belongs to the plane, where plugins judge its calls. */
  readonly isPlane: boolean;
  /** JSON Schema of the input. */
  readonly inputSchema: Record<string, unknown>;
  /** Checks the input. Does nothing yet. */
  prepare(input: unknown): PreparedCall | { problem: string };
}

export type PreparedCall = {
  title: string;
  locations: TurnItems["tool_call"]["locations"];
  diff: TurnItems["tool_call"]["diff"];
  /** Acts. Throws `ToolError` for what the model should know, and stops soon after `context.signal` aborts. */
  run(context: ToolContext): Promise<ToolResult>;
};

export type ToolContext = {
  /** The project's folder; file tools never leave it. */
  cwd: string;
  signal: AbortSignal;
  clock: Clock;
  processes: Processes;
  /** What a shell command sees. */
  shellEnv: Record<string, string>;
  seen: SeenFiles;
  allowPrivateFetch: boolean;
  /** Names this call over a redelivery, so that its effect happens once. */
  key: string;
};

export type ToolResult = {
  output: string;
  is_error: boolean;
  diff?: TurnItems["tool_result"]["diff"];
  plan?: TurnItems["plan"]["entries"];
};

type Definition<Schema extends z.ZodType> = {
  name: string;
  description: string;
  kind: ToolKind;
  effect: Effect;
  input: Schema;
  title(input: z.infer<Schema>): string;
  locations?(input: z.infer<Schema>): PreparedCall["locations"];
  diff?(input: z.infer<Schema>): PreparedCall["diff"];
  run(input: z.infer<Schema>, context: ToolContext): Promise<ToolResult>;
};

export function defineTool<Schema extends z.ZodType>(definition: Definition<Schema>): Tool {
  const { name, description, kind, effect, input: schema } = definition;
  return {
    name,
    description,
    kind,
    effect,
    isPlane: false,
    inputSchema: leanSchema(schema),
    prepare(raw) {
      const parsed = schema.safeParse(withoutNulls(raw));
      if (!parsed.success) return { problem: inputProblem(parsed.error) };
      const input = parsed.data;
      return {
        title: definition.title(input),
        locations: definition.locations?.(input) ?? [],
        diff: definition.diff?.(input) ?? null,
        run: (context) => definition.run(input, context),
      };
    },
  };
}

export function done(output: string): ToolResult {
  return { output, is_error: false };
}

export function failed(output: string): ToolResult {
  return { output, is_error: true };
}

/** One line of a title. */
export function shorten(text: string, length = 80): string {
  const line = text.replace(/\s+/g, " ").trim();
  return line.length <= length ? line : `${line.slice(0, length - 1)}…`;
}

/** Without what no model needs to read: the schema goes along with every call. */
function leanSchema(schema: z.ZodType): Record<string, unknown> {
  const { $schema: _, ...lean } = z.toJSONSchema(schema, {
    io: "input",
    override: ({ jsonSchema }) => {
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
    },
  });
  return lean;
}

/** Some models send `null` for what they leave out. */
function withoutNulls(input: unknown): unknown {
  if (typeof input !== "object" || input === null || Array.isArray(input)) return input;
  return Object.fromEntries(Object.entries(input).filter(([, value]) => value !== null));
}

function inputProblem(error: z.ZodError): string {
  return error.issues.map((issue) => `${issue.path.join(".") || "input"}: ${issue.message}`).join("; ");
}
