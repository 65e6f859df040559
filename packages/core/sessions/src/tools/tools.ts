/**
 * The tools that agents can call, built-in and from plugins. This table decides which tools exist; `toolset.ts` decides
 * which of them an agent may use.
 */

import type { Agent, Permission } from "@aegis/contract/agent.ts";
import { AegisError, isAegisError } from "@aegis/contract/errors.ts";
import { type Decision, refuse, type ScopedTool, scopeOf } from "@aegis/contract/tool-access.ts";
import { isReservedTool } from "@aegis/contract/tool-names.ts";
import type { SideBySide, ToolOutcome, ToolSpec } from "@aegis/drivers/driver.ts";
import type { Clock } from "@aegis/lib/clock.ts";
import { cutText } from "@aegis/lib/cut-text.ts";
import { errorText, type Logger } from "@aegis/lib/log.ts";
import type { OverflowFiles } from "@aegis/lib/overflow.ts";
import type { Redact } from "@aegis/lib/redact.ts";
import type { SessionRow } from "@aegis/store/store.ts";
import { whileAway } from "@aegis/store/transact.ts";
import type { z } from "zod";
import { withoutClaim } from "./from-handle.ts";
import { type AgentToolInput, parseInput, schemaOf } from "./tool-input.ts";

export type AgentToolContext = {
  /** The calling session, identified by its credential, never by an argument. */
  caller: SessionRow;
  /** The agent of the session as it was when its turn started. */
  agent: Agent;
  /** An idempotency key: a repeated call has the same key. */
  key: string;
  signal: AbortSignal;
};

export type AgentTool = {
  name: string;
  description: string;
  input: AgentToolInput;
  readOnly: boolean;
  /** Set if the tool waits for other work, so that several calls may run in parallel. */
  sideBySide?: SideBySide;
  /** The plugin that provides it; absent for built-in tools. */
  plugin?: string;
  /** The only agent that may call it: one of the same plugin or of no plugin, or `plugin:agent`. */
  required_agent?: string;
  /** The agents that see it; all agents if absent or empty. */
  visible_to?: readonly string[];
  /** The permission it requires; `read` if absent. */
  permission?: Exclude<Permission, "auto">;
  /** The native tool whose work it can do. */
  implies?: string;
  /**
   * Returns the answer: text is passed through, anything else becomes JSON. Throw `AegisError` to report a problem to
   * the agent.
   */
  run(input: never, context: AgentToolContext): Promise<unknown>;
};

/** Infers the type of a tool's input from its schema. Undeclared arguments are refused. */
export function defineTool<Input extends z.ZodObject>(
  tool: Omit<AgentTool, "input" | "run"> & {
    input: Input;
    run(input: z.output<Input>, context: AgentToolContext): Promise<unknown>;
  },
): AgentTool {
  return { ...tool, input: tool.input.strict() };
}

/** The tool in the form that the policy expects. */
export function scopedTool(tool: AgentTool): ScopedTool {
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

/** The record of one call. */
export type ToolCall = {
  caller: SessionRow;
  tool: string;
  /** False for a read-only tool and for an unknown one. */
  changes: boolean;
  input: unknown;
  outcome: ToolOutcome;
  durationMs: number;
};

/** Wraps every call. Neither function rejects. */
export interface ToolGuard {
  /** Returns the input to use, or the answer that replaces the call. */
  before(tool: AgentTool, input: unknown, context: AgentToolContext): Promise<{ input: unknown } | ToolOutcome>;
  /** Returns the final answer. */
  after(tool: AgentTool, input: unknown, outcome: ToolOutcome, context: AgentToolContext): Promise<ToolOutcome>;
}

/** The position of a session; null if an agent is inspected without a session. */
export type ToolPlace = Pick<SessionRow, "depth" | "limits"> | null;

export type ToolTableOptions = {
  log: Logger;
  clock: Clock;
  redact: Redact;
  /** Stores results that are too large for a model. */
  overflow: OverflowFiles;
  guard: ToolGuard;
  /** Called after each call; the answer waits for it. Must not throw. */
  record: (call: ToolCall) => Promise<void> | undefined;
  /** The reason why the current settings or the session's position withhold the tool from the agent, or null. */
  withheld: (tool: string, agent: Agent, place: ToolPlace) => string | null;
};

/** The limit of one result for a model, in characters. */
const longestToolOutput = 256 * 1024;

/** How long a call waits for a database that is away, as during the failover of a cluster. */
const longestAwayMs = 30_000;
const longestAwayDelayMs = 2_000;

/** Reserved for the note about what was cut. */
const noteRoom = 512;

export class ToolTable {
  readonly #options: ToolTableOptions;
  readonly #tools = new Map<string, AgentTool>();
  readonly #specs = new WeakMap<AgentTool, ToolSpec>();
  #version = 0;

  constructor(options: ToolTableOptions) {
    this.#options = options;
  }

  /** Increases with each change. */
  get version(): number {
    return this.#version;
  }

  /** Returns a function that removes the tool. Throws if the name is in use or reserved. */
  add(tool: AgentTool): () => void {
    const { name } = tool;
    const other = this.#tools.get(name);
    if (other !== undefined)
      throw new AegisError("conflict", `${ownerOf(tool)} cannot provide a tool "${name}": ${ownerOf(other)} has one`);
    if (tool.plugin !== undefined && isReservedTool(name))
      throw new AegisError("conflict", `${ownerOf(tool)} cannot provide a tool "${name}": the name is Aegis's own`);
    this.#tools.set(name, tool);
    this.#version++;
    return () => {
      if (this.#tools.get(name) !== tool) return;
      this.#tools.delete(name);
      this.#version++;
    };
  }

  /** Call when new settings apply, because they may withhold other tools. */
  settingsChanged(): void {
    this.#version++;
  }

  /** Returns the policy for an agent at a position under the current settings. */
  scope(agent: Agent, place: ToolPlace): (tool: ScopedTool) => Decision {
    const decide = scopeOf(agent);
    return (tool) => {
      const withheld = tool.kind === "plane" ? this.#options.withheld(tool.name, agent, place) : null;
      return withheld === null ? decide(tool) : refuse(agent, tool, withheld);
    };
  }

  all(): AgentTool[] {
    return [...this.#tools.values()];
  }

  spec(tool: AgentTool): ToolSpec {
    const known = this.#specs.get(tool);
    if (known !== undefined) return known;
    const spec = {
      name: tool.name,
      description: tool.description,
      inputSchema: schemaOf(tool.input),
      readOnly: tool.readOnly,
      ...(tool.sideBySide === undefined ? {} : { sideBySide: tool.sideBySide }),
    };
    this.#specs.set(tool, spec);
    return spec;
  }

  /**
   * Runs the tool that `pick` finds and records the call. Never throws: failures become an answer that the agent can
   * act on.
   */
  async call(
    name: string,
    input: unknown,
    context: AgentToolContext,
    pick: () => AgentTool | ToolOutcome,
  ): Promise<ToolOutcome> {
    const { clock, record } = this.#options;
    const started = clock.now();
    const outcome = await this.#run(name, input, context, pick);
    const changes = this.#tools.get(name)?.readOnly === false;
    await record({ caller: context.caller, tool: name, changes, input, outcome, durationMs: clock.now() - started });
    return outcome;
  }

  async #run(
    name: string,
    input: unknown,
    context: AgentToolContext,
    pick: () => AgentTool | ToolOutcome,
  ): Promise<ToolOutcome> {
    const { guard } = this.#options;
    try {
      const tool = pick();
      if ("output" in tool) return tool;
      const given = withoutClaim(tool, input, context.caller);
      // An invalid call cannot run, so hooks do not judge it.
      parseInput(tool.name, tool.input, given);
      const judged = await guard.before(tool, given ?? {}, context);
      if ("output" in judged) return judged;
      // Bounded before plugins see it, and again after they changed it.
      const outcome = await this.#bounded(tool, await this.#perform(tool, judged.input, context));
      return await this.#bounded(tool, await guard.after(tool, judged.input, outcome, context));
    } catch (error) {
      return this.#failure(name, error);
    }
  }

  async #perform(tool: AgentTool, input: unknown, context: AgentToolContext): Promise<ToolOutcome> {
    try {
      const result = await this.#repeated(tool, input, context);
      return { output: typeof result === "string" ? result : JSON.stringify(result), is_error: false };
    } catch (error) {
      return this.#failure(tool.name, error);
    }
  }

  /** Repeats a call of a built-in tool that met a lost database. Its key makes the repetition idempotent. */
  #repeated(tool: AgentTool, input: unknown, context: AgentToolContext): Promise<unknown> {
    const { clock, log } = this.#options;
    // Only `defineTool` creates tools, and it infers `run`'s input from this schema.
    const run = async () => tool.run(parseInput(tool.name, tool.input, input) as never, context);
    if (tool.plugin !== undefined) return run();
    return whileAway(run, {
      clock,
      log,
      signal: context.signal,
      what: "a tool call",
      details: { tool: tool.name },
      forMs: longestAwayMs,
      longestDelayMs: longestAwayDelayMs,
    });
  }

  /** Returns the result if it fits; otherwise its beginning and the file with the full result. */
  async #bounded(tool: AgentTool, outcome: ToolOutcome): Promise<ToolOutcome> {
    if (outcome.output.length <= longestToolOutput + noteRoom) return outcome;
    const { redact, overflow, clock } = this.#options;
    const output = redact(outcome.output);
    const time = new Date(clock.now()).toISOString().replace(/[-:.]/g, "");
    const kept = await overflow.keep(`tool-${time}-${tool.name.slice(0, 64)}`, output);
    return { ...outcome, output: cutText(output, longestToolOutput, { kept }) };
  }

  #failure(tool: string, error: unknown): ToolOutcome {
    if (!isAegisError(error)) this.#options.log.error("a tool failed", { tool, error: errorText(error) });
    const hint = isAegisError(error) && error.hint ? ` (${error.hint})` : "";
    const late = isAegisError(error) && error.code === "timeout";
    return { output: `${errorText(error)}${hint}`, is_error: true, ...(late ? { timed_out: true } : {}) };
  }
}

function ownerOf(tool: AgentTool): string {
  return tool.plugin === undefined ? "Aegis" : `the plugin "${tool.plugin}"`;
}
