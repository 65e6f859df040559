/** The interface of a native agent's tool. */

import type { ToolKind, TurnItems } from "@aegis/contract/turn.ts";
import type { Clock } from "@aegis/lib/clock.ts";
import { fieldProblems, problemText } from "@aegis/lib/issue-words.ts";
import type { Processes } from "@aegis/lib/process.ts";
import { z } from "zod";
import type { AskConsent, ConversationHost, FileChange, SideBySide } from "../../driver.ts";
import type { SeenFiles } from "./seen-files.ts";

/** What a call affects; the agent's permission is checked against it. */
export type Effect = "read" | "edit" | "execute" | "network" | "plane";

export interface Tool {
  readonly name: string;
  readonly description: string;
  readonly kind: ToolKind;
  readonly effect: Effect;
  /** The tool belongs to the plane, where plugins judge its calls. */
  readonly isPlane: boolean;
  /** Null for a tool whose calls run one at a time. */
  readonly sideBySide: SideBySide | null;
  /** JSON Schema of the input. */
  readonly inputSchema: Record<string, unknown>;
  /** Validates the input without side effects. */
  prepare(input: unknown): PreparedCall | { problem: string };
}

export type PreparedCall = {
  title: string;
  /** The title for an ask: nothing is truncated. */
  question: string;
  /** The resulting file changes. */
  changes: readonly FileChange[];
  locations: TurnItems["tool_call"]["locations"];
  diff: TurnItems["tool_call"]["diff"];
  /**
   * Runs the call. Throws `ToolError` for a problem that the model should know, and stops soon after `context.signal`
   * aborts.
   */
  run(context: ToolContext): Promise<ToolResult>;
};

export type ToolContext = {
  /** The project folder; file tools never leave it. */
  cwd: string;
  signal: AbortSignal;
  clock: Clock;
  processes: Processes;
  /** Called for each process that a tool starts. */
  consent: AskConsent;
  /** The environment of shell commands. */
  shellEnv: Record<string, string>;
  seen: SeenFiles;
  writeFile: ConversationHost["writeFile"];
  allowPrivateFetch: boolean;
  /** Identifies this call across redeliveries, so that its side effect happens once. */
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
  /** One line; the display truncates long ones. */
  title(input: z.infer<Schema>): string;
  changes?(input: z.infer<Schema>): readonly FileChange[];
  locations?(input: z.infer<Schema>): PreparedCall["locations"];
  diff?(input: z.infer<Schema>): PreparedCall["diff"];
  run(input: z.infer<Schema>, context: ToolContext): Promise<ToolResult>;
};

const longestTitle = 100;

export function defineTool<Schema extends z.ZodType>(definition: Definition<Schema>): Tool {
  const { name, description, kind, effect, input: schema } = definition;
  return {
    name,
    description,
    kind,
    effect,
    isPlane: false,
    sideBySide: null,
    inputSchema: leanSchema(schema),
    prepare(raw) {
      const parsed = schema.safeParse(withoutNulls(raw));
      if (!parsed.success) return { problem: inputProblem(parsed.error) };
      const input = parsed.data;
      return {
        title: shorten(definition.title(input), longestTitle),
        question: oneLine(definition.title(input)),
        changes: definition.changes?.(input) ?? [],
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

/** Truncates a title to one line. */
export function shorten(text: string, length = 80): string {
  const line = oneLine(text);
  return line.length <= length ? line : `${line.slice(0, length - 1)}…`;
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, " ").trim();
}

/** Removes what no model needs: the schema is sent with every call. */
function leanSchema(schema: z.ZodType): Record<string, unknown> {
  const { $schema: _, ...lean } = z.toJSONSchema(schema, {
    io: "input",
    override: ({ jsonSchema }) => {
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
    },
  });
  return lean;
}

/** Some models send `null` for omitted fields. */
function withoutNulls(input: unknown): unknown {
  if (typeof input !== "object" || input === null || Array.isArray(input)) return input;
  return Object.fromEntries(Object.entries(input).filter(([, value]) => value !== null));
}

function inputProblem(error: z.ZodError): string {
  return fieldProblems(error.issues, { known: [], noun: "argument" }).map(problemText).join("; ");
}

/** A call that cannot be done, with a message for the model. */
export class ToolError extends Error {
  override readonly name = "ToolError";
}
