/**
 * The tools of one open conversation: what its agent may use, taken together when a turn begins and the same until it
 * ends, whatever is loaded or removed meanwhile.
 */
import type { Agent } from "../../contract/agent.ts";
import { AegisError } from "../../contract/errors.ts";
import { type Decision, scopeOf } from "../../contract/scope.ts";
import type { ToolOutcome, ToolSpec } from "../../drivers/driver.ts";
import { didYouMean } from "../../lib/nearest.ts";
import { scopedTool, type Tool, type ToolContext, type ToolRegistry } from "./tools.ts";

type Judged = { tool: Tool; decision: Decision };

export class Toolset {
  readonly agent: Agent;
  readonly #registry: ToolRegistry;
  #tools: ReadonlyMap<string, Judged>;
  #version: number;

  constructor(registry: ToolRegistry, agent: Agent) {
    this.agent = agent;
    this.#registry = registry;
    this.#version = registry.version;
    this.#tools = this.#judge();
  }

  /** Takes over what has changed. True when the agent sees other tools than before. */
  refresh(): boolean {
    if (this.#version === this.#registry.version) return false;
    const before = this.#allowed();
    this.#version = this.#registry.version;
    this.#tools = this.#judge();
    const after = this.#allowed();
    return before.length !== after.length || before.some((tool, index) => tool !== after[index]);
  }

  /** Whether there is such a tool, whoever may use it. */
  has(name: string): boolean {
    return this.#tools.has(name);
  }

  get names(): string[] {
    return this.#allowed().map((tool) => tool.name);
  }

  specs(): ToolSpec[] {
    return this.#allowed().map((tool) => this.#registry.spec(tool));
  }

  /** The answer to a call of a tool that exists but is kept from this agent; null for any other name. */
  refusal(name: string): ToolOutcome | null {
    const decision = this.#tools.get(name)?.decision;
    if (decision === undefined || decision.allowed) return null;
    return { output: JSON.stringify(decision.refusal), is_error: true };
  }

  /** Never throws: what went wrong is the answer. */
  call(name: string, input: unknown, context: Omit<ToolContext, "agent">): Promise<ToolOutcome> {
    return this.#registry.call(name, input, { ...context, agent: this.agent }, () => {
      const judged = this.#tools.get(name);
      if (judged === undefined) throw new AegisError("not_found", `no tool "${name}"${didYouMean(name, this.names)}`);
      return this.refusal(name) ?? judged.tool;
    });
  }

  #judge(): Map<string, Judged> {
    const decide = scopeOf(this.agent);
    return new Map(this.#registry.all().map((tool) => [tool.name, { tool, decision: decide(scopedTool(tool)) }]));
  }

  #allowed(): Tool[] {
    return [...this.#tools.values()].filter(({ decision }) => decision.allowed).map(({ tool }) => tool);
  }
}
