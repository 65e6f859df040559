/** One conversation with one agent process: prompts become turns, whatever becomes of the process. */
import { z } from "zod";
import type { TurnError } from "../../contract/turn.ts";
import { AsyncQueue } from "../../lib/async-queue.ts";
import { errorText } from "../../lib/log.ts";
import { silentFor, Waits } from "../cli-harness/inactivity.ts";
import { endText, type JsonProcess } from "../cli-harness/json-process.ts";
import { ToolObserver } from "../cli-harness/observer.ts";
import { promptText, readImages } from "../cli-harness/prompt.ts";
import type { Conversation, ConversationSpec, DriverDeps, DriverEvent, Prompt, TurnEnded } from "../driver.ts";
import type { Connection, PermissionOutcome } from "./connection.ts";
import { turnErrorOf } from "./errors.ts";
import { introductionOf } from "./introduction.ts";
import { askHost, chooseOption, isPlaneCall, settledAnswer } from "./permissions.ts";
import type { AcpRecipe } from "./recipe.ts";
import type { AcpSession } from "./session.ts";
import { planeServer, titleOf } from "./tool-calls.ts";
import { TurnMapper } from "./turn-mapper.ts";
import type { AcpPermissionRequest } from "./updates.ts";
import { UsageMeter } from "./usage.ts";
import type { SessionUpdate } from "./wire.ts";

/** How long an agent may take to end a cancelled prompt before its process is ended. */
const cancelMs = 5000;

const answerSchema = z.looseObject({ stopReason: z.string() });
type Answer = z.infer<typeof answerSchema>;

const reasons: Record<string, TurnEnded["reason"]> = {
  end_turn: "completed",
  cancelled: "cancelled",
  refusal: "refused",
  max_tokens: "truncated",
  max_turn_requests: "truncated",
};

export type AcpConversationOptions = {
  deps: DriverDeps;
  recipe: AcpRecipe;
  spec: ConversationSpec;
  inactivityMs: number;
  process: JsonProcess;
  connection: Connection;
  session: AcpSession;
};

type Turn = { mapper: TurnMapper; waits: Waits; signal: AbortSignal };

type Outcome =
  | { kind: "answer"; answer: Answer }
  | { kind: "error"; error: unknown }
  | { kind: "died" }
  | { kind: "stuck" }
  | { kind: "silent" };

export class AcpConversation implements Conversation {
  readonly #options: AcpConversationOptions;
  readonly #usage: UsageMeter;
  readonly #introduction: ReturnType<typeof introductionOf>;
  readonly #observer: ToolObserver;
  #turn: Turn | null = null;
  /** Why calls were denied: the next prompt says it. */
  #untold: string[] = [];
  #planeAwaited = false;
  #planeChecked = false;

  constructor(options: AcpConversationOptions) {
    this.#options = options;
    this.#usage = new UsageMeter(options.recipe.usage, options.session.resumed);
    this.#introduction = introductionOf(options.recipe, options.spec, options.session);
    this.#observer = new ToolObserver(options.spec.host, (tool) => tool.startsWith(`mcp__${planeServer}__`));
  }

  get alive(): boolean {
    return this.#options.process.alive;
  }

  async *send(prompt: Prompt, signal: AbortSignal): AsyncGenerator<DriverEvent> {
    const events = new AsyncQueue<DriverEvent>();
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
    }
  }

  /** What the agent says; sessions it makes for itself are its own affair. */
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
    const isJudged = spec.host.gated && !isPlaneCall(shown, recipe);
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
        // The protocol has no field for it.
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
    if (!process.alive) return failed(await this.#death());
    await this.#waitForPlane(signal);
    if (signal.aborted) return { type: "turn.ended", reason: "cancelled", error: null, usage: null };

    let accepted = false;
    const accept = () => {
      if (accepted) return;
      accepted = true;
      emit({ type: "accepted" });
      for (const event of this.#introduction.accepted()) emit(event);
    };
    const waits = new Waits(this.#options.deps.clock);
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
      const outcome = await this.#prompt(prompt, waits, signal);
      if (outcome.kind === "answer") accept();
      if (outcome.kind === "answer" && !signal.aborted) await this.#checkPlane(emit, signal);
      const end = await this.#ending(outcome, signal);
      mapper.finish(end.reason === "completed" ? "The agent reported no result." : `The turn ended: ${end.reason}.`);
      return end;
    } finally {
      this.#turn = null;
    }
  }

  /** Sends the prompt and waits for its answer, the end of the process, or the end of patience. */
  async #prompt(prompt: Prompt, waits: Waits, signal: AbortSignal): Promise<Outcome> {
    const { connection, process, session, deps, inactivityMs } = this.#options;
    const over = new AbortController();
    const pictures = (await readImages(prompt.images)).map(({ media_type, data }) => ({
      type: "image",
      mimeType: media_type,
      data,
    }));
    const text = promptText(prompt, this.#untold.splice(0));
    const blocks = [...this.#introduction.blocks(), ...pictures, { type: "text", text }];
    const answered = connection
      .request("session/prompt", { sessionId: session.id, prompt: blocks }, answerSchema)
      .then<Outcome, Outcome>(
        (answer) => ({ kind: "answer", answer }),
        (error: unknown) => ({ kind: "error", error }),
      );
    const stuck = this.#cancelled(signal, over.signal);
    const silent = silentFor(inactivityMs, () => process.child.lastActivity(), waits, deps.clock, over.signal);
    try {
      const outcome = await Promise.race([answered, stuck, silent.then((): Outcome => ({ kind: "silent" }))]);
      // A request fails when the connection ends, and the connection ends with the process.
      return outcome.kind === "error" && !process.alive ? { kind: "died" } : outcome;
    } finally {
      over.abort();
    }
  }

  /** Tells the agent to stop once the signal aborts; resolves when it should have stopped long ago. */
  async #cancelled(signal: AbortSignal, over: AbortSignal): Promise<Outcome> {
    const { connection, session, deps } = this.#options;
    await aborted(signal, over);
    if (signal.aborted && !over.aborted) {
      await connection.notify("session/cancel", { sessionId: session.id }).catch(() => {});
      await deps.clock.sleep(cancelMs, over).catch(() => {});
    }
    return { kind: "stuck" };
  }

  async #ending(outcome: Outcome, signal: AbortSignal): Promise<TurnEnded> {
    const { recipe, process, inactivityMs } = this.#options;
    const usage = this.#usage.endTurn(outcome.kind === "answer" ? outcome.answer : null);
    // Some agents end a cancelled prompt like any other, or with an error: what we asked for is what happened.
    const end = (reason: TurnEnded["reason"], error: TurnError | null = null): TurnEnded =>
      signal.aborted
        ? { type: "turn.ended", reason: "cancelled", error: null, usage }
        : { type: "turn.ended", reason, error, usage };
    switch (outcome.kind) {
      case "answer": {
        const reason = reasons[outcome.answer.stopReason];
        if (reason !== undefined) return end(reason);
        return end("failed", { code: "protocol", message: `unknown stop reason "${outcome.answer.stopReason}"` });
      }
      case "error":
        return end("failed", turnErrorOf(outcome.error, recipe.login));
      case "died":
        return end("failed", await this.#death());
      case "stuck":
        await process.child.stop();
        await process.ended;
        return end("cancelled");
      case "silent": {
        await process.child.stop();
        const { stderr } = await process.ended;
        const message = `${recipe.program.name} was silent for ${Math.round(inactivityMs / 60_000)} minutes and was stopped`;
        return end("failed", { code: "timeout", message, ...(stderr === "" ? {} : { stderr }) });
      }
    }
  }

  async #death(): Promise<TurnError> {
    const end = await this.#options.process.ended;
    const message = `${this.#options.recipe.program.name} ${endText(end, null)}`;
    return { code: "died", message, ...(end.stderr === "" ? {} : { stderr: end.stderr }) };
  }

  async #waitForPlane(signal: AbortSignal): Promise<void> {
    const { spec, recipe, deps } = this.#options;
    if (this.#planeAwaited || spec.plane === null || recipe.plane.waitMs === 0) return;
    this.#planeAwaited = true;
    const listed = await spec.plane.listed(recipe.plane.waitMs, signal).catch(() => false);
    if (listed && recipe.plane.settleMs > 0) await deps.clock.sleep(recipe.plane.settleMs, signal).catch(() => {});
  }

  /** Agents do not say when they cannot reach an MCP server; that nobody listed its tools is the only sign. */
  async #checkPlane(emit: (event: DriverEvent) => void, signal: AbortSignal): Promise<void> {
    const { spec, recipe } = this.#options;
    if (this.#planeChecked || spec.plane === null) return;
    this.#planeChecked = true;
    if (await spec.plane.listed(0, signal).catch(() => true)) return;
    const text = `${recipe.program.name} did not connect to Aegis, so this agent cannot see or call its peers.`;
    emit({ type: "notice", level: "error", text });
  }

  /** Between turns only the agent's notices concern anyone. */
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
        else deps.log.debug("the agent spoke between turns", { harness, type: event.type });
      },
      onProgress: () => {},
    });
  }

  async #late(signal: AbortSignal): Promise<void> {
    await this.#options.deps.clock.sleep(this.#options.recipe.quirks.lateInputMs, signal).catch(() => {});
  }
}

function noImages(name: string): TurnError {
  const message = `${name} takes no images.`;
  return { code: "unsupported", message, fix: "Put the image into the project and name the file in the message." };
}

function failed(error: TurnError): TurnEnded {
  return { type: "turn.ended", reason: "failed", error, usage: null };
}

/** Resolves when either signal aborts. */
function aborted(first: AbortSignal, second: AbortSignal): Promise<void> {
  const either = AbortSignal.any([first, second]);
  return new Promise((resolve) => {
    if (either.aborted) resolve();
    else either.addEventListener("abort", () => resolve(), { once: true });
  });
}
