/** One conversation with one agent process. Every prompt becomes a turn with an end, even if the process dies. */
import type { TurnError } from "@aegis/contract/turn.ts";
import type { Clock } from "@aegis/lib/clock.ts";
import { errorText } from "@aegis/lib/log.ts";
import { Waits } from "../cli-harness/inactivity.ts";
import { ToolObserver } from "../cli-harness/observer.ts";
import { promptText, readImages } from "../cli-harness/prompt.ts";
import { TurnEvents } from "../cli-harness/turns.ts";
import type { Conversation, ConversationSpec, DriverEvent, Prompt, ResumeOutcome, TurnEnded } from "../driver.ts";
import { mustAsk } from "../tool-approval.ts";
import type { PermissionOutcome, SessionUpdate } from "./connection.ts";
import { introductionOf } from "./introduction.ts";
import { askHost, chooseOption, isPlaneCall, settledAnswer } from "./permissions.ts";
import { deathOf, outcomeOf, type PromptOptions, turnEndOf } from "./prompt-outcome.ts";
import type { AcpRecipe } from "./recipe.ts";
import { planeServer, titleOf } from "./tool-calls.ts";
import { TurnMapper } from "./turn-mapper.ts";
import type { AcpPermissionRequest } from "./updates.ts";
import { UsageMeter } from "./usage.ts";

export type AcpConversationOptions = PromptOptions & { spec: ConversationSpec; restored: ResumeOutcome };

type Turn = { mapper: TurnMapper; waits: Waits; signal: AbortSignal };

export class AcpConversation implements Conversation {
  readonly #options: AcpConversationOptions;
  readonly #usage: UsageMeter;
  readonly #introduction: ReturnType<typeof introductionOf>;
  readonly #observer: ToolObserver;
  readonly #planeReach: PlaneReach;
  #turn: Turn | null = null;
  #events: TurnEvents | null = null;
  /** Reasons of denied calls that the next prompt reports. */
  #untold: string[] = [];

  constructor(options: AcpConversationOptions) {
    this.#options = options;
    this.#usage = new UsageMeter(options.recipe.usage, options.session.resumed);
    this.#introduction = introductionOf(options.recipe, options.spec, options.session);
    this.#observer = new ToolObserver(options.spec.host, (tool) => tool.startsWith(`mcp__${planeServer}__`));
    this.#planeReach = new PlaneReach(options.spec.plane, options.recipe, options.deps.clock);
  }

  get alive(): boolean {
    return this.#options.process.alive;
  }

  get restored(): ResumeOutcome {
    return this.#options.restored;
  }

  async *send(prompt: Prompt, signal: AbortSignal): AsyncGenerator<DriverEvent> {
    const events = new TurnEvents();
    this.#events = events;
    const abandoned = new AbortController();
    const work = this.#run(prompt, AbortSignal.any([signal, abandoned.signal]), (event) => events.push(event))
      .catch((error: unknown): TurnEnded => failed({ code: "internal", message: errorText(error) }))
      .then((end) => {
        events.push(end);
        events.end();
      });
    try {
      yield* events;
    } finally {
      abandoned.abort();
      await work;
      if (this.#events === events) this.#events = null;
    }
  }

  /** Null if the agent's output may be read; otherwise resolves when the earlier output has been stored. */
  room(): Promise<void> | null {
    return this.#events?.room() ?? null;
  }

  /** Handles an update of the agent's session. Ignores sessions that the agent creates for its own use. */
  update({ sessionId, update }: SessionUpdate): void {
    if (sessionId !== this.#options.session.id) return;
    (this.#turn?.mapper ?? this.#betweenTurns()).update(update);
  }

  async permission(request: AcpPermissionRequest, signal: AbortSignal): Promise<PermissionOutcome> {
    const turn = this.#turn;
    if (turn === null || turn.signal.aborted) return { outcome: "cancelled" };
    const { recipe, spec } = this.#options;
    const { toolCallId: id } = request.toolCall;
    const ended = AbortSignal.any([turn.signal, signal]);
    const shown = turn.mapper.requested(request.toolCall);
    const settled = settledAnswer(shown, recipe, spec);
    const isJudged = mustAsk(spec.host) && !isPlaneCall(shown, recipe);
    if (settled?.decision === "allow" && !isJudged)
      return chooseOption(request.options, settled, recipe.quirks.allowAlways);

    const asking = `permission ${id}`;
    turn.waits.begin(asking);
    try {
      const call =
        recipe.quirks.lateInputMs === 0 ? shown : ((await turn.mapper.withInput(id, this.#late(ended))) ?? shown);
      turn.mapper.announce(id);
      const answer = await askHost(spec.host, call, recipe, settledAnswer(call, recipe, spec), ended);
      if (answer === null || ended.aborted) return { outcome: "cancelled" };
      if (answer.decision === "deny") {
        turn.mapper.deny(id, answer.reason);
        // The protocol has no field for the reason.
        this.#untold.push(`your call "${titleOf(call, recipe.naming)}" was denied: ${answer.reason}`);
      }
      return chooseOption(request.options, answer, recipe.quirks.allowAlways);
    } finally {
      turn.waits.end(asking);
    }
  }

  async #run(prompt: Prompt, signal: AbortSignal, emit: (event: DriverEvent) => void): Promise<TurnEnded> {
    const { recipe, process, session } = this.#options;
    if (prompt.images.length > 0 && !session.images) return failed(noImages(recipe.program.name));
    if (signal.aborted) return { type: "turn.ended", reason: "cancelled", error: null, usage: null };
    if (!process.alive) return failed(await deathOf(recipe, process));
    await this.#planeReach.wait(signal);
    if (signal.aborted) return { type: "turn.ended", reason: "cancelled", error: null, usage: null };

    let accepted = false;
    const accept = () => {
      if (accepted) return;
      accepted = true;
      emit({ type: "accepted" });
      for (const event of this.#introduction.accepted()) emit(event);
    };
    const waits = new Waits(this.#options.deps.clock, this.#options.spec.plane);
    const mapper = new TurnMapper({
      turn: prompt.turn,
      harness: recipe.harness,
      naming: recipe.naming,
      modeEcho: recipe.quirks.modeEcho,
      usage: this.#usage,
      waits,
      emit: (event) => {
        emit(event);
        this.#observer.see([event]);
      },
      onProgress: accept,
    });
    this.#turn = { mapper, waits, signal };
    try {
      const outcome = await outcomeOf(await this.#blocks(prompt), this.#options, waits, signal);
      if (outcome.kind === "answer") accept();
      if (outcome.kind === "answer" && !signal.aborted) await this.#planeReach.check(emit, signal);
      const end = await turnEndOf(outcome, this.#options, this.#usage, signal);
      mapper.finish(end.reason === "completed" ? "The agent reported no result." : `The turn ended: ${end.reason}.`);
      return end;
    } finally {
      this.#turn = null;
    }
  }

  async #blocks(prompt: Prompt): Promise<object[]> {
    const pictures = (await readImages(prompt.images)).map(({ media_type, data }) => ({
      type: "image",
      mimeType: media_type,
      data,
    }));
    const text = promptText(prompt, this.#untold.splice(0));
    return [...this.#introduction.blocks(), ...pictures, { type: "text", text }];
  }

  /** Between turns only the agent's notices are kept. */
  #betweenTurns(): TurnMapper {
    const { recipe, spec, deps } = this.#options;
    const { harness } = recipe;
    return new TurnMapper({
      turn: "between",
      harness,
      naming: recipe.naming,
      modeEcho: recipe.quirks.modeEcho,
      usage: this.#usage,
      waits: null,
      emit: (event) => {
        if (event.type === "notice") spec.host.notice({ level: event.level, text: event.text });
        else deps.log.debug("the agent sent output between turns", { harness, type: event.type });
      },
      onProgress: () => {},
    });
  }

  async #late(signal: AbortSignal): Promise<void> {
    await this.#options.deps.clock.sleep(this.#options.recipe.quirks.lateInputMs, signal).catch(() => {});
  }
}

function noImages(name: string): TurnError {
  const message = `${name} does not accept images.`;
  return { code: "unsupported", message, fix: "Put the image in the project and name the file in the message." };
}

function failed(error: TurnError): TurnEnded {
  return { type: "turn.ended", reason: "failed", error, usage: null };
}

/**
 * Checks whether the agent has reached the plane. Agents do not report an unreachable MCP server; the only sign is that
 * the agent did not list its tools. For an agent that connects only when it needs a tool, this is not a sign of failure.
 */
class PlaneReach {
  readonly #plane: ConversationSpec["plane"];
  readonly #recipe: AcpRecipe;
  readonly #clock: Clock;
  #awaited = false;
  #checked = false;
  /** The agent sent no request to the plane before its first prompt. */
  #isLazy = false;

  constructor(plane: ConversationSpec["plane"], recipe: AcpRecipe, clock: Clock) {
    this.#plane = plane;
    this.#recipe = recipe;
    this.#clock = clock;
  }

  /** Called before the first prompt: some agents connect late and would not see their peers. */
  async wait(signal: AbortSignal): Promise<void> {
    const { waitMs, settleMs, lazyAfterMs } = this.#recipe.plane;
    if (this.#awaited || this.#plane === null || waitMs === 0) return;
    this.#awaited = true;
    if (lazyAfterMs !== null && !(await this.#plane.reached(lazyAfterMs, signal).catch(() => false))) {
      this.#isLazy = true;
      return;
    }
    const listed = await this.#plane.listed(waitMs, signal).catch(() => false);
    if (listed && settleMs > 0) await this.#clock.sleep(settleMs, signal).catch(() => {});
  }

  /** Called after the first answer. */
  async check(emit: (event: DriverEvent) => void, signal: AbortSignal): Promise<void> {
    if (this.#checked || this.#plane === null) return;
    this.#checked = true;
    if (this.#isLazy && !(await this.#plane.reached(0, signal).catch(() => false))) return;
    if (await this.#plane.listed(0, signal).catch(() => true)) return;
    // Some agents remember the tools of an earlier process and call them without listing them.
    const { open, answeredAt } = this.#plane.calls();
    if (open > 0 || answeredAt > 0) return;
    const text = `${this.#recipe.program.name} did not connect to Aegis, so this agent cannot see or call its peers.`;
    emit({ type: "notice", level: "error", text });
  }
}
