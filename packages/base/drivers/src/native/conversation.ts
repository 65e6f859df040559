/** One conversation with a native agent. It has no process of its own: only its memory outlives a turn. */
import { childEnv } from "@aegis/lib/child-env.ts";
import { errorText } from "@aegis/lib/log.ts";
import { untilAborted } from "@aegis/lib/until-aborted.ts";
import { Arrivals } from "../arrivals.ts";
import type {
  Addition,
  Conversation,
  ConversationSpec,
  DriverDeps,
  DriverEvent,
  Prompt,
  ResumeOutcome,
  ToolHost,
  ToolSpec,
} from "../driver.ts";
import { Compactor } from "./compaction.ts";
import type { History } from "./history.ts";
import type { Model } from "./model.ts";
import type { NativeOptions } from "./options.ts";
import type { JudgedTools } from "./tool-access.ts";
import { RepeatGuard, ToolRunner, type TurnTools } from "./tool-runner.ts";
import { capText } from "./tools/cap.ts";
import { SeenFiles } from "./tools/seen-files.ts";
import { shorten, type Tool } from "./tools/tool.ts";
import { type Loop, runTurn } from "./turn.ts";

export type ConversationParts = {
  spec: ConversationSpec;
  deps: DriverDeps;
  model: Model;
  /** `provider/model`, for display. */
  modelId: string;
  options: NativeOptions;
  contextSize: number;
  system: string;
  history: History;
  coreTools: JudgedTools;
};

export class NativeConversation implements Conversation {
  readonly #parts: ConversationParts;
  readonly #loop: Loop;
  readonly #closed = new AbortController();
  #modelShown = false;

  constructor(parts: ConversationParts) {
    this.#parts = parts;
    this.#loop = createLoop(parts);
  }

  get alive(): boolean {
    return !this.#closed.signal.aborted;
  }

  /** The record is Aegis's own and contains the keys of its prompts. */
  get restored(): ResumeOutcome {
    const { history } = this.#parts;
    return {
      conversation: true,
      holds: async ({ prompts }) => (prompts.some(({ key }) => history.hasPrompt(key)) ? "yes" : "no"),
    };
  }

  async *send(prompt: Prompt, signal: AbortSignal): AsyncGenerator<DriverEvent> {
    const left = new AbortController();
    const stop = AbortSignal.any([signal, this.#closed.signal, left.signal]);
    try {
      const { turn, problem } = await this.#turnTools(prompt.key, stop);
      if (problem !== null) yield { type: "notice", level: "error", text: problem };
      for await (const event of runTurn(this.#loop, turn, prompt, stop)) {
        yield event;
        if (event.type !== "accepted" || this.#modelShown) continue;
        this.#modelShown = true;
        yield { type: "mode", mode: null, model: this.#parts.modelId };
      }
    } finally {
      // A reader that stops early must not leave a model call, a command or a waiting sender behind.
      left.abort();
      this.#loop.arrivals.close();
      await this.#loop.runner.settled();
    }
  }

  /** Waits until the loop adds the message, which happens before its next model call. */
  steer(message: Addition): Promise<boolean> {
    return this.#loop.arrivals.add(message);
  }

  /** Ends the current turn and everything it started. */
  async close(): Promise<void> {
    this.#closed.abort();
    await this.#loop.runner.settled();
  }

  /** The tools of the agent for this turn: the plane's tools can change between turns. */
  async #turnTools(key: string, signal: AbortSignal): Promise<{ turn: TurnTools; problem: string | null }> {
    const { spec, deps, coreTools } = this.#parts;
    const plane = await listPlaneTools(spec, signal);
    const { offered, refusals } = coreTools;
    const tools = new Map(offered.map((tool) => [tool.name, tool]));
    for (const tool of plane.tools)
      if (tools.has(tool.name) || refusals.has(tool.name))
        deps.log.warn("a plane tool has the name of a core tool", { tool: tool.name });
      else tools.set(tool.name, tool);
    const refusal = (name: string) => refusals.get(name) ?? spec.host.tools.refusal(name)?.output ?? null;
    return { turn: { tools, refusal, guard: new RepeatGuard(), key, calls: 0 }, problem: plane.problem };
  }
}

/** The turn runs without the plane's tools if they cannot be listed, and reports that. */
async function listPlaneTools(
  { host }: ConversationSpec,
  signal: AbortSignal,
): Promise<{ tools: Tool[]; problem: string | null }> {
  try {
    return { tools: await untilAborted(planeTools(host.tools), signal), problem: null };
  } catch (error) {
    const problem = signal.aborted ? null : `The plane's tools could not be listed: ${errorText(error)}`;
    return { tools: [], problem };
  }
}

function createLoop({ spec, deps, model, options, contextSize, system, history }: ConversationParts): Loop {
  const { clock } = deps;
  const request = {
    system,
    temperature: options.temperature,
    maxTokens: options.max_tokens,
    effort: spec.agent.effort,
  };
  const call = { model, clock, log: deps.log, inactivityMs: options.inactivity_minutes * 60_000 };
  const runner = new ToolRunner({
    host: spec.host,
    permission: spec.agent.permission,
    history,
    context: {
      cwd: spec.cwd,
      clock,
      processes: spec.host.processes,
      consent: () => spec.host.consent(),
      shellEnv: childEnv(deps.env, [], spec.agent.env),
      seen: new SeenFiles(),
      writeFile: spec.host.writeFile,
      allowPrivateFetch: options.allow_private_fetch,
    },
  });
  const compactor = new Compactor({ history, size: contextSize, request, call });
  const arrivals = new Arrivals();
  return { host: spec.host, history, arrivals, compactor, runner, request, call, maxCalls: options.max_turns };
}

/** The plane's tools, called in the daemon itself. The plane decides which of them this session may use. */
async function planeTools(host: ToolHost): Promise<Tool[]> {
  return (await host.list()).map((spec) => planeTool(spec, host));
}

function planeTool(spec: ToolSpec, host: ToolHost): Tool {
  const { name, description, inputSchema } = spec;
  return {
    name,
    description,
    inputSchema,
    kind: "other",
    effect: spec.readOnly ? "read" : "plane",
    isPlane: true,
    sideBySide: spec.sideBySide ?? null,
    prepare: (input) => ({
      title: shorten(`${name} ${JSON.stringify(input)}`),
      question: `${name} ${JSON.stringify(input)}`,
      changes: [],
      locations: [],
      diff: null,
      async run({ key, signal }) {
        const outcome = await untilAborted(host.call(name, input, { key, signal }), signal);
        return { output: capText(outcome.output, "Ask for less."), is_error: outcome.is_error };
      },
    }),
  };
}
