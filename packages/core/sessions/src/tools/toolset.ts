/**
 * The tools of one open conversation: a snapshot of what its agent may use, taken at the start of a turn and unchanged
 * until it ends, regardless of what is loaded or removed meanwhile.
 */
import type { Agent } from "@aegis/contract/agent.ts";
import { AegisError } from "@aegis/contract/errors.ts";
import type { Decision } from "@aegis/contract/tool-access.ts";
import type { ToolOutcome, ToolSpec } from "@aegis/drivers/driver.ts";
import { didYouMean } from "@aegis/lib/nearest.ts";
import { type AgentTool, type AgentToolContext, scopedTool, type ToolPlace, type ToolTable } from "./tools.ts";

type Judged = { tool: AgentTool; decision: Decision };

export class Toolset {
  readonly agent: Agent;
  readonly #table: ToolTable;
  readonly #place: ToolPlace;
  #tools: ReadonlyMap<string, Judged>;
  #version: number;

  constructor(table: ToolTable, agent: Agent, place: ToolPlace) {
    this.agent = agent;
    this.#place = place;
    this.#table = table;
    this.#version = table.version;
    this.#tools = this.#judge();
  }

  /** Updates the snapshot. Returns true if the agent's tools changed. */
  refresh(): boolean {
    if (this.#version === this.#table.version) return false;
    const before = this.#allowed();
    this.#version = this.#table.version;
    this.#tools = this.#judge();
    const after = this.#allowed();
    return before.length !== after.length || before.some((tool, index) => tool !== after[index]);
  }

  /** Whether the tool exists, regardless of who may use it. */
  has(name: string): boolean {
    return this.#tools.has(name);
  }

  get names(): string[] {
    return this.#allowed().map((tool) => tool.name);
  }

  specs(): ToolSpec[] {
    return this.#allowed().map((tool) => this.#table.spec(tool));
  }

  /** The answer to a call of an existing tool that is withheld from this agent; null for any other name. */
  refusal(name: string): ToolOutcome | null {
    const decision = this.#tools.get(name)?.decision;
    if (decision === undefined || decision.allowed) return null;
    return { output: JSON.stringify(decision.refusal), is_error: true };
  }

  /** Never throws: failures become the answer. */
  call(name: string, input: unknown, context: Omit<AgentToolContext, "agent">): Promise<ToolOutcome> {
    return this.#table.call(name, input, { ...context, agent: this.agent }, () => {
      const judged = this.#tools.get(name);
      if (judged === undefined) throw new AegisError("not_found", `no tool "${name}"${didYouMean(name, this.names)}`);
      return this.refusal(name) ?? judged.tool;
    });
  }

  #judge(): Map<string, Judged> {
    const decide = this.#table.scope(this.agent, this.#place);
    return new Map(this.#table.all().map((tool) => [tool.name, { tool, decision: decide(scopedTool(tool)) }]));
  }

  #allowed(): AgentTool[] {
    return [...this.#tools.values()].filter(({ decision }) => decision.allowed).map(({ tool }) => tool);
  }
}
