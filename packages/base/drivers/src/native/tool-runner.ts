/**
 * Runs the calls of one answer. Neighbouring calls that only read run in parallel, and so do neighbouring calls that
 * wait for other agents; all others run one at a time and in order.
 */
import type { Permission } from "@aegis/contract/agent.ts";
import { cutText } from "@aegis/lib/cut-text.ts";
import { errorText } from "@aegis/lib/log.ts";
import { didYouMean } from "@aegis/lib/nearest.ts";
import { untilAborted } from "@aegis/lib/until-aborted.ts";
import type {
  CallVerdict,
  ConversationHost,
  DriverEvent,
  FilesOf,
  PermissionAnswer,
  PermissionRequest,
  ToolUse,
} from "../driver.ts";
import { longestToolOutput } from "../limits.ts";
import { askedFor } from "../tool-approval.ts";
import type { RequestedCall } from "./answer.ts";
import type { History } from "./history.ts";
import { toolMessage } from "./messages.ts";
import {
  type Effect,
  failed,
  type PreparedCall,
  shorten,
  type Tool,
  type ToolContext,
  ToolError,
  type ToolResult,
} from "./tools/tool.ts";

export type ToolRunnerSettings = {
  host: ConversationHost;
  permission: Permission;
  history: History;
  context: Omit<ToolContext, "signal" | "key">;
};

/** The tools and counters of one turn. */
export type TurnTools = {
  tools: ReadonlyMap<string, Tool>;
  /** The answer to a call of a tool that exists but that this agent may not use. */
  refusal: (name: string) => string | null;
  guard: RepeatGuard;
  /** Stable across redeliveries of the turn. */
  key: string;
  /** The number of calls in this turn so far. */
  calls: number;
};

type Planned = { call: RequestedCall; key: string } & (
  | { tool: Tool; prepared: PreparedCall }
  /** Answered without being run. */
  | { tool: Tool | null; answer: ToolResult }
);

const noObjection: Exclude<CallVerdict, { decision: "deny" }> = { decision: "allow" };

export class ToolRunner {
  readonly #settings: ToolRunnerSettings;
  readonly #allowed = new Set<string>();
  readonly #running = new Set<Promise<unknown>>();

  constructor(settings: ToolRunnerSettings) {
    this.#settings = settings;
  }

  /** Returns true if the turn must end because the model repeats itself. Throws the signal's reason when it aborts. */
  async *run(
    calls: readonly RequestedCall[],
    turn: TurnTools,
    signal: AbortSignal,
  ): AsyncGenerator<DriverEvent, boolean> {
    let looping = false;
    const waiting = calls.map((call) => {
      const verdict = turn.guard.judge(call.name, call.input);
      looping ||= verdict === "end";
      return this.#plan(call, turn, verdict === "run" ? null : failed(repeated(call, turn.guard.count)));
    });
    while (waiting.length > 0 && !signal.aborted) yield* this.#runGroup(takeGroup(waiting), signal);
    for (const { call } of waiting)
      yield this.#settings.history.add(toolMessage(call, failed("not run: the turn was cancelled")));
    signal.throwIfAborted();
    return looping;
  }

  /** Resolves when no tool is running. */
  async settled(): Promise<void> {
    await Promise.allSettled([...this.#running]);
  }

  /** Shows results as they come and remembers them in the order of the calls. */
  async *#runGroup(group: readonly Planned[], signal: AbortSignal): AsyncGenerator<DriverEvent> {
    for (const planned of group) yield toolCallItem(planned);
    const running = new Map(group.map((planned) => [planned, this.#start(planned, signal)]));
    const results = new Map<Planned, ToolResult>();
    while (running.size > 0) {
      const { planned, result } = await Promise.race(running.values());
      running.delete(planned);
      results.set(planned, result);
      if (result.plan !== undefined) yield { type: "plan", entries: result.plan };
      const { output, is_error, diff = null } = result;
      yield { type: "tool_result", call: planned.call.id, output, is_error, diff };
    }
    for (const planned of group) {
      const result = results.get(planned);
      if (result !== undefined) yield this.#settings.history.add(toolMessage(planned.call, result));
    }
  }

  #start(planned: Planned, signal: AbortSignal): Promise<{ planned: Planned; result: ToolResult }> {
    const outcome = this.#execute(planned, signal).then(
      (result) => ({ planned, result }),
      (error: unknown) => ({
        planned,
        result: failed(signal.aborted ? "cancelled before it finished" : explain(error)),
      }),
    );
    this.#running.add(outcome);
    outcome.finally(() => this.#running.delete(outcome));
    return outcome;
  }

  async #execute(planned: Planned, signal: AbortSignal): Promise<ToolResult> {
    if ("answer" in planned) return planned.answer;
    const { tool, call } = planned;
    const use: ToolUse = { call: call.id, tool: tool.name, kind: tool.kind, input: call.input, files: filesOf(tool) };
    try {
      return await this.#judged(planned, use, signal);
    } finally {
      if (!tool.isPlane) await this.#settings.host.endTool(use);
    }
  }

  async #judged(
    planned: Extract<Planned, { prepared: unknown }>,
    use: ToolUse,
    signal: AbortSignal,
  ): Promise<ToolResult> {
    const { host, context } = this.#settings;
    const { tool, key } = planned;
    const verdict = tool.isPlane ? noObjection : await untilAborted(host.beforeTool(use, signal), signal);
    if (verdict.decision === "deny") return failed(`Denied: ${verdict.reason}`);
    const { question: title, changes } = planned.prepared;
    const answer = await this.#permitted({ ...use, title, changes }, tool, verdict, signal);
    if (answer.decision === "deny") return failed(`Permission denied: ${answer.reason}`);
    const input = answer.input ?? verdict.input;
    const prepared = input === undefined ? planned.prepared : tool.prepare(input);
    if ("problem" in prepared)
      return failed(`The input was changed on approval and is now invalid: ${prepared.problem}`);
    const result = await prepared.run({ ...context, signal, key });
    if (tool.isPlane) return result;
    const after = host.afterTool({ ...use, input: input ?? use.input }, result, signal);
    const output = (await untilAborted(after, signal)) ?? result.output;
    return { ...result, output: cutText(output, longestToolOutput) };
  }

  /** Asks a person if the agent's permission or a plugin requires it; otherwise allows the call. */
  async #permitted(
    request: PermissionRequest,
    tool: Tool,
    verdict: Exclude<CallVerdict, { decision: "deny" }>,
    signal: AbortSignal,
  ): Promise<PermissionAnswer> {
    const { host, permission } = this.#settings;
    const needsConsent = ruleFor(permission, tool.effect) === "ask" && !this.#allowed.has(tool.name);
    if (!needsConsent && verdict.decision !== "ask") return { decision: "allow", scope: "once" };
    const answer = await untilAborted(host.permission(askedFor(request, verdict), signal), signal);
    if (answer.decision === "allow" && answer.scope === "session") this.#allowed.add(tool.name);
    return answer;
  }

  #plan(call: RequestedCall, turn: TurnTools, verdict: ToolResult | null): Planned {
    const key = `${turn.key}/${turn.calls}`;
    turn.calls += 1;
    const tool = turn.tools.get(call.name) ?? null;
    if (tool === null)
      return { call, key, tool, answer: failed(turn.refusal(call.name) ?? unknownTool(call.name, turn)) };
    if (call.problem !== null) return { call, key, tool, answer: failed(badArguments(call)) };
    if (verdict !== null) return { call, key, tool, answer: verdict };
    const prepared = tool.prepare(call.input);
    if (!("problem" in prepared)) return { call, key, tool, prepared };
    return { call, key, tool, answer: failed(`Invalid input for ${call.name}: ${prepared.problem}`) };
  }
}

/** The next call and all following ones, as long as all of them only read, or all wait for other agents. */
function takeGroup(waiting: Planned[]): Planned[] {
  const lanes = new Set<string>();
  const isApart = (planned: Planned) => {
    const lane = laneOf(planned);
    if (lane === null || lanes.has(lane)) return false;
    lanes.add(lane);
    return true;
  };
  const [first] = waiting;
  const belongs = first !== undefined && onlyLooks(first) ? onlyLooks : isApart;
  const end = waiting.findIndex((planned) => !belongs(planned));
  return waiting.splice(0, end === -1 ? waiting.length : Math.max(1, end));
}

/** Calls of the same lane keep their order; null for a call that runs alone. */
function laneOf({ call, tool }: Planned): string | null {
  const sideBySide = tool?.sideBySide ?? null;
  if (sideBySide === null) return null;
  const { orderedBy } = sideBySide;
  if (orderedBy === null) return call.id;
  return JSON.stringify([tool?.name, (call.input as Record<string, unknown> | null)?.[orderedBy]]);
}

function filesOf(tool: Tool): FilesOf {
  return (input) => {
    const prepared = tool.prepare(input);
    if ("problem" in prepared) return {};
    const reads = tool.kind === "read" ? prepared.locations.map(({ path }) => path) : [];
    return { reads, changes: prepared.changes };
  };
}

function onlyLooks(planned: Planned): boolean {
  return "answer" in planned || planned.tool.effect === "read";
}

function toolCallItem(planned: Planned): DriverEvent {
  const { call, tool } = planned;
  const { title, locations, diff } =
    "prepared" in planned ? planned.prepared : { title: call.name, locations: [], diff: null };
  const kind = tool?.kind ?? "other";
  return {
    type: "tool_call",
    call: call.id,
    name: call.name,
    kind,
    title,
    input: call.input,
    locations,
    diff,
    parent: null,
  };
}

function unknownTool(name: string, turn: TurnTools): string {
  return `No tool "${name}"${didYouMean(name, turn.tools.keys())}. Available: ${[...turn.tools.keys()].join(", ")}.`;
}

function badArguments(call: RequestedCall): string {
  const sent = typeof call.input === "string" ? call.input : JSON.stringify(call.input);
  return `The arguments of ${call.name} are not valid JSON. You sent: ${shorten(sent ?? "", 500)}`;
}

function repeated(call: RequestedCall, count: number): string {
  return `You have made this same ${call.name} call ${count} times in a row; it was not run again. Its result will not change: do something else, or say what blocks you.`;
}

function explain(error: unknown): string {
  return error instanceof ToolError ? error.message : `The tool failed: ${errorText(error)}`;
}

type Rule = "allow" | "ask";

/** The plane scopes its own tools; only `auto`, where a person decides, asks about them too. */
const rules: Readonly<Record<Permission, Readonly<Record<Effect, Rule>>>> = {
  read: { read: "allow", edit: "ask", execute: "ask", network: "ask", plane: "allow" },
  write: { read: "allow", edit: "allow", execute: "ask", network: "ask", plane: "allow" },
  full: { read: "allow", edit: "allow", execute: "allow", network: "allow", plane: "allow" },
  auto: { read: "allow", edit: "ask", execute: "ask", network: "ask", plane: "ask" },
};

function ruleFor(permission: Permission, effect: Effect): Rule {
  return rules[permission][effect];
}

const correctAt = 5;
const endAt = 8;

/** Detects a model that repeats the same call. */
export class RepeatGuard {
  #last = "";
  #count = 0;

  /** Counts a call. `correct`: do not run it and tell the model; `end`: end the turn. */
  judge(name: string, input: unknown): "run" | "correct" | "end" {
    const call = `${name} ${JSON.stringify(input)}`;
    this.#count = call === this.#last ? this.#count + 1 : 1;
    this.#last = call;
    if (this.#count >= endAt) return "end";
    return this.#count >= correctAt ? "correct" : "run";
  }

  get count(): number {
    return this.#count;
  }
}
