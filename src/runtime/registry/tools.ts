/** The tools agents can call, built-in and added. One table decides what exists; `toolset.ts` what an agent may use of it. */
import type { z } from "zod";
import type { Agent, Permission } from "../../contract/agent.ts";
import { AegisError, isAegisError } from "../../contract/errors.ts";
import type { ScopedTool } from "../../contract/scope.ts";
import { isReservedTool } from "../../contract/tool-names.ts";
import type { ToolOutcome, ToolSpec } from "../../drivers/driver.ts";
import type { Clock } from "../../lib/clock.ts";
import { errorText, type Logger } from "../../lib/log.ts";
import type { SessionRow } from "../../store/store.ts";
import { parseInput, schemaOf, type ToolInput } from "./tool-input.ts";

export type ToolContext = {
  /** The session that calls, known from its credential and never from an argument. */
  caller: SessionRow;
  /** The agent it runs, as it was when its turn began. */
  agent: Agent;
  /** The same for a repeated call, so that its effect happens once. */
  key: string;
  signal: AbortSignal;
};

export type Tool = {
  name: string;
  description: string;
  input: ToolInput;
  readOnly: boolean;
  /** The plugin that brings it; Aegis itself when absent. */
  plugin?: string;
  /** The only agent that may call it: one of the same plugin, or `plugin:agent`. */
  required_agent?: string;
  /** The agents that see it; everyone when absent or empty. */
  visible_to?: readonly string[];
  /** The rights it needs; `read` when absent. */
  permission?: Exclude<Permission, "auto">;
  /** The tool of the native loop that it can do the work of. */
  implies?: string;
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

/** The tool as the policy sees it. */
export function scopedTool(tool: Tool): ScopedTool {
  return {
    name: tool.name,
    kind: tool.plugin === undefined ? "plane" : "plugin",
    plugin: tool.plugin ?? null,
    needs: tool.permission ?? "read",
    ...(tool.implies === undefined ? {} : { implies: tool.implies }),
    required_agent: tool.required_agent ?? null,
    visible_to: tool.visible_to ?? [],
  };
}

/** One call, for the record. */
export type ToolCall = {
  caller: SessionRow;
  tool: string;
  /** False for a tool that only looks, and for one that does not exist. */
  changes: boolean;
  input: unknown;
  outcome: ToolOutcome;
  durationMs: number;
};

/** Stands around every call. Neither function rejects. */
export interface ToolGuard {
  /** The input to use, or the answer instead of a call. */
  before(tool: Tool, input: unknown, context: ToolContext): Promise<{ input: unknown } | ToolOutcome>;
  /** The answer to give. */
  after(tool: Tool, input: unknown, outcome: ToolOutcome, context: ToolContext): Promise<ToolOutcome>;
}

export type ToolRegistryOptions = {
  log: Logger;
  clock: Clock;
  guard: ToolGuard;
  /** Told after each call, which is answered when this is done. Must not throw. */
  record: (call: ToolCall) => Promise<void> | undefined;
};

export class ToolRegistry {
  readonly #options: ToolRegistryOptions;
  readonly #tools = new Map<string, Tool>();
  readonly #specs = new WeakMap<Tool, ToolSpec>();
  #version = 0;

  constructor(options: ToolRegistryOptions) {
    this.#options = options;
  }

  /** Grows with each change. */
  get version(): number {
    return this.#version;
  }

  /** Returns its undo. A name that is taken or reserved is refused, never overwritten. */
  add(tool: Tool): () => void {
    const { name } = tool;
    const other = this.#tools.get(name);
    if (other !== undefined)
      throw new AegisError("conflict", `${ownerOf(tool)} cannot bring a tool "${name}": ${ownerOf(other)} has one`);
    if (tool.plugin !== undefined && isReservedTool(name))
      throw new AegisError("conflict", `${ownerOf(tool)} cannot bring a tool "${name}": the name is Aegis's own`);
    this.#tools.set(name, tool);
    this.#version++;
    return () => {
      if (this.#tools.get(name) !== tool) return;
      this.#tools.delete(name);
      this.#version++;
    };
  }

  all(): Tool[] {
    return [...this.#tools.values()];
  }

  spec(tool: Tool): ToolSpec {
    const known = this.#specs.get(tool);
    if (known !== undefined) return known;
    const spec = {
      name: tool.name,
      description: tool.description,
      inputSchema: schemaOf(tool.input),
      readOnly: tool.readOnly,
    };
    this.#specs.set(tool, spec);
    return spec;
  }

  /**
   * Runs what `pick` finds and records it. Never throws: what went wrong is the answer, in words the agent can act on.
   */
  async call(name: string, input: unknown, context: ToolContext, pick: () => Tool | ToolOutcome): Promise<ToolOutcome> {
    const { clock, record } = this.#options;
    const started = clock.now();
    const outcome = await this.#run(name, input, context, pick);
    const changes = this.#tools.get(name)?.readOnly === false;
    await record({ caller: context.caller, tool: name, changes, input, outcome, durationMs: clock.now() - started });
    return outcome;
  }

  async #run(name: string, input: unknown, context: ToolContext, pick: () => Tool | ToolOutcome): Promise<ToolOutcome> {
    const { guard } = this.#options;
    try {
      const tool = pick();
      if ("output" in tool) return tool;
      // What could not run anyway is nothing to judge.
      parseInput(tool.name, tool.input, input);
      const judged = await guard.before(tool, input ?? {}, context);
      if ("output" in judged) return judged;
      const outcome = await this.#perform(tool, judged.input, context);
      return await guard.after(tool, judged.input, outcome, context);
    } catch (error) {
      return this.#failure(name, error);
    }
  }

  async #perform(tool: Tool, input: unknown, context: ToolContext): Promise<ToolOutcome> {
    try {
      // Only `defineTool` makes tools, and it ties `run` to this very schema.
      const result = await tool.run(parseInput(tool.name, tool.input, input) as never, context);
      return { output: typeof result === "string" ? result : JSON.stringify(result), is_error: false };
    } catch (error) {
      return this.#failure(tool.name, error);
    }
  }

  #failure(tool: string, error: unknown): ToolOutcome {
    if (!isAegisError(error)) this.#options.log.error("a tool failed", { tool, error: errorText(error) });
    const hint = isAegisError(error) && error.hint ? ` (${error.hint})` : "";
    return { output: `${errorText(error)}${hint}`, is_error: true };
  }
}

function ownerOf(tool: Tool): string {
  return tool.plugin === undefined ? "Aegis" : `the plugin "${tool.plugin}"`;
}
