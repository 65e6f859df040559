/** The tools agents can call, built-in and added. One table decides what exists; the caller decides what it may use. */
import { z } from "zod";
import { AegisError, isAegisError } from "../../contract/errors.ts";
import type { ToolOutcome, ToolSpec } from "../../drivers/driver.ts";
import type { Clock } from "../../lib/clock.ts";
import { errorText, type Logger } from "../../lib/log.ts";
import { didYouMean } from "../../lib/nearest.ts";
import type { SessionRow } from "../../store/store.ts";

export type ToolContext = {
  /** The session that calls, known from its credential and never from an argument. */
  caller: SessionRow;
  /** The same for a repeated call, so that its effect happens once. */
  key: string;
  signal: AbortSignal;
};

export type Tool = {
  name: string;
  description: string;
  input: z.ZodObject;
  readOnly: boolean;
  /** The answer: text as it is, anything else as JSON. Throw `AegisError` to tell the agent what was wrong. */
  run(input: never, context: ToolContext): Promise<unknown>;
};

/** Ties the type of a tool's input to its schema. */
export function defineTool<Input extends z.ZodObject>(
  tool: Omit<Tool, "input" | "run"> & {
    input: Input;
    run(input: z.output<Input>, context: ToolContext): Promise<unknown>;
  },
): Tool {
  return tool;
}

/** One call, for the record. */
export type ToolCall = { caller: SessionRow; tool: string; input: unknown; outcome: ToolOutcome; durationMs: number };

export type ToolRegistryOptions = {
  log: Logger;
  clock: Clock;
  /** Told after each call. Must not throw. */
  record: (call: ToolCall) => void;
};

export class ToolRegistry {
  readonly #options: ToolRegistryOptions;
  readonly #tools = new Map<string, Tool>();

  constructor(options: ToolRegistryOptions) {
    this.#options = options;
  }

  /** Returns its undo. A name that exists is refused, never overwritten. */
  add(tool: Tool): () => void {
    if (this.#tools.has(tool.name)) throw new AegisError("conflict", `a tool "${tool.name}" exists already`);
    this.#tools.set(tool.name, tool);
    return () => {
      if (this.#tools.get(tool.name) === tool) this.#tools.delete(tool.name);
    };
  }

  all(): Tool[] {
    return [...this.#tools.values()];
  }

  specs(): ToolSpec[] {
    return this.all().map((tool) => ({
      name: tool.name,
      description: tool.description,
      inputSchema: z.toJSONSchema(tool.input, { io: "input" }) as Record<string, unknown>,
      readOnly: tool.readOnly,
    }));
  }

  /** Never throws: what went wrong is the answer, in words the agent can act on. */
  async call(name: string, input: unknown, context: ToolContext): Promise<ToolOutcome> {
    const { clock, record } = this.#options;
    const started = clock.now();
    const outcome = await this.#run(name, input, context);
    record({ caller: context.caller, tool: name, input, outcome, durationMs: clock.now() - started });
    return outcome;
  }

  async #run(name: string, input: unknown, context: ToolContext): Promise<ToolOutcome> {
    try {
      const tool = this.#tools.get(name);
      if (!tool) throw new AegisError("not_found", `no tool "${name}"${didYouMean(name, this.#tools.keys())}`);
      const parsed = tool.input.safeParse(input ?? {});
      if (!parsed.success) throw new AegisError("invalid", `wrong input for ${name}: ${problems(parsed.error)}`);
      // Only `defineTool` makes tools, and it ties `run` to this very schema.
      const result = await tool.run(parsed.data as never, context);
      return { output: typeof result === "string" ? result : JSON.stringify(result), is_error: false };
    } catch (error) {
      if (!isAegisError(error)) this.#options.log.error("a tool failed", { tool: name, error: errorText(error) });
      const hint = isAegisError(error) && error.hint ? ` (${error.hint})` : "";
      return { output: `${errorText(error)}${hint}`, is_error: true };
    }
  }
}

function problems(error: z.ZodError): string {
  return error.issues.map((issue) => `${issue.path.join(".") || "input"}: ${issue.message}`).join("; ");
}
