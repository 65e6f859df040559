/** One conversation with a Claude Code process: turns we ask for, turns it starts by itself, and its questions. */
import { randomUUID } from "node:crypto";
import type { TurnError } from "../../contract/turn.ts";
import { errorText } from "../../lib/log.ts";
import { type Json, textAt } from "../cli-harness/fields.ts";
import { silentFor, Waits } from "../cli-harness/inactivity.ts";
import { endText, type ProcessEnd } from "../cli-harness/json-process.ts";
import { LiveTurn } from "../cli-harness/live-turn.ts";
import type { CliOptions } from "../cli-harness/options.ts";
import type { Conversation, ConversationSpec, DriverDeps, DriverEvent, Prompt } from "../driver.ts";
import type { ClaudeLink } from "./link.ts";
import { answerRequest } from "./permissions.ts";
import { startClaude, stderrOf } from "./start.ts";
import { notice, raw, Translator } from "./translate.ts";

/** A turn that a message of ours started. */
class PromptTurn extends LiveTurn {
  readonly uuid = randomUUID();
  /** The CLI has taken the message up: what it says from now on belongs to this turn. */
  started = false;
  sent = false;
  /** Why we end it before the CLI does. */
  stopping: "cancel" | "timeout" | null = null;
}

const interruptDeadlineMs = 2000;
/** The CLI does not interrupt what it has not started yet, so the request is repeated. */
const interruptEveryMs = 200;

export class ClaudeConversation implements Conversation {
  readonly #spec: ConversationSpec;
  readonly #options: CliOptions;
  readonly #deps: DriverDeps;
  readonly #waits: Waits;
  readonly #questions = new Map<string, AbortController>();
  #link: ClaudeLink | null = null;
  #translator: Translator | null = null;
  #turn: PromptTurn | null = null;
  #spontaneous: LiveTurn | null = null;
  /** This CLI reports when it takes up a message. */
  #reportsLifecycle = false;
  #model: string | null;
  #ready = false;

  constructor(spec: ConversationSpec, options: CliOptions, deps: DriverDeps) {
    this.#spec = spec;
    this.#options = options;
    this.#deps = deps;
    this.#waits = new Waits(deps.clock);
    this.#model = spec.agent.model;
  }

  get alive(): boolean {
    return this.#ready && (this.#link?.alive ?? false);
  }

  /** Throws `DriverError`. */
  async start(): Promise<void> {
    const handlers = {
      message: (message: Json) => this.#onMessage(message),
      request: (id: string, request: Json) => void this.#onRequest(id, request),
      withdrawn: (id: string) => this.#questions.get(id)?.abort(),
      noise: (line: string) => this.#emit([raw(line)]),
    };
    const started = await startClaude(this.#spec, this.#options, this.#deps, handlers, (link) => {
      this.#link = link;
    });
    this.#translator = new Translator({
      waits: this.#waits,
      resumed: started.resumed,
      wantsPlane: this.#spec.plane !== null,
    });
    this.#ready = true;
    void started.link.ended.then((end) => this.#onEnd(end, started.link.firstNoise));
  }

  async close(): Promise<void> {
    this.#ready = false;
    await this.#link?.child.stop();
    this.#turn?.end({ reason: "cancelled", error: null, usage: null });
    this.#spontaneous?.end({ reason: "cancelled", error: null, usage: null });
  }

  async *send(prompt: Prompt, signal: AbortSignal): AsyncIterable<DriverEvent> {
    const turn = new PromptTurn();
    if (this.#turn !== null && !this.#turn.isOver) {
      yield failed({ code: "internal", message: "Claude Code was sent a message while a turn was under way." });
      return;
    }
    this.#turn = turn;
    void this.#run(turn, prompt, signal);
    try {
      yield* turn.events;
    } finally {
      // A reader that leaves early gives the turn up.
      if (!turn.isOver) await this.#stop(turn, "cancel");
      if (this.#turn === turn) this.#turn = null;
    }
  }

  async #run(turn: PromptTurn, prompt: Prompt, signal: AbortSignal): Promise<void> {
    const cancel = () => void this.#stop(turn, "cancel");
    try {
      if (signal.aborted) return turn.end({ reason: "cancelled", error: null, usage: null });
      signal.addEventListener("abort", cancel, { once: true });
      await Promise.race([this.#spontaneous?.over, turn.over]);
      if (turn.isOver) return;
      const link = this.#link;
      if (link === null || !this.alive) {
        return turn.end({ reason: "failed", error: { code: "died", message: "Claude Code is gone." }, usage: null });
      }
      await this.#followModel(link, turn);
      if (turn.isOver) return;
      turn.sent = true;
      link.prompt(prompt.text, turn.uuid);
      const { inactivityMs } = this.#options;
      const isSilent = await silentFor(
        inactivityMs,
        link.child.lastActivity,
        this.#waits,
        this.#deps.clock,
        turn.signal,
      );
      if (isSilent) await this.#stop(turn, "timeout");
    } catch (error) {
      turn.end({ reason: "failed", error: { code: "internal", message: errorText(error) }, usage: null });
    } finally {
      await turn.over;
      signal.removeEventListener("abort", cancel);
    }
  }

  /** The profile may have got another model since the process was started. */
  async #followModel(link: ClaudeLink, turn: LiveTurn): Promise<void> {
    const { model } = this.#spec.agent;
    if (model === this.#model) return;
    try {
      await link.control({ subtype: "set_model", model: model ?? "default" });
      this.#model = model;
    } catch (error) {
      turn.push([notice("error", `Claude Code did not change to model "${model}": ${errorText(error)}`)]);
    }
  }

  /** Asks the CLI to end the turn; one that does not is ended with its process. */
  async #stop(turn: PromptTurn, why: "cancel" | "timeout"): Promise<void> {
    if (turn.isOver || turn.stopping !== null) return turn.over;
    turn.stopping = why;
    // What runs then is a turn that nobody asked to end.
    if (!turn.sent) return this.#endStopped(turn);
    const link = this.#link;
    const deadline = this.#deps.clock.now() + interruptDeadlineMs;
    while (link?.alive && this.#deps.clock.now() < deadline) {
      link.control({ subtype: "interrupt" }).catch(() => {});
      await this.#deps.clock.sleep(interruptEveryMs, turn.signal).catch(() => {});
      if (turn.isOver) return;
    }
    await link?.child.stop({ graceMs: 500 });
    this.#endStopped(turn);
  }

  #endStopped(turn: PromptTurn, usage: Parameters<LiveTurn["end"]>[0]["usage"] = null): void {
    if (turn.stopping === "timeout") {
      const minutes = this.#options.inactivityMs / 60_000;
      const message = `Claude Code said nothing for ${minutes} minutes and was interrupted.`;
      const fix = "Send the message again, or raise options.inactivity_minutes of the agent.";
      turn.end({ reason: "failed", error: { code: "timeout", message, fix }, usage });
    } else turn.end({ reason: "cancelled", error: null, usage });
  }

  #onMessage(message: Json): void {
    if (this.#translator === null) return;
    this.#noteStart(message);
    if (message.type === "result") this.#onResult(message, this.#translator);
    else this.#emit(this.#translator.translate(message));
  }

  /** Events before our message is taken up belong to a turn that the CLI started by itself. */
  #noteStart(message: Json): void {
    const turn = this.#turn;
    if (message.type === "command_lifecycle") this.#reportsLifecycle = true;
    if (turn === null || turn.started || turn.isOver) return;
    const isTakenUp =
      message.type === "command_lifecycle"
        ? message.command_uuid === turn.uuid && message.state === "started"
        : message.type === "user"
          ? message.isReplay === true && message.uuid === turn.uuid
          : message.type === "system" && message.subtype === "init" && !this.#reportsLifecycle;
    if (!isTakenUp) return;
    turn.started = true;
    // A message that joined such a turn is answered together with it.
    this.#spontaneous?.end({ reason: "completed", error: null, usage: null });
    this.#spontaneous = null;
    turn.push([{ type: "accepted" }]);
  }

  #onResult(result: Json, translator: Translator): void {
    const events = translator.finish(result);
    const ended = events.at(-1);
    const turn = this.#takenUp();
    const target = turn ?? this.#spontaneous;
    if (ended?.type !== "turn.ended" || target === null) return;
    target.push(events.slice(0, -1));
    if (turn !== null && turn.stopping !== null) this.#endStopped(turn, ended.usage);
    else target.end(ended);
    this.#spontaneous = null;
    this.#waits.clear();
  }

  #emit(events: readonly DriverEvent[]): void {
    const turn = this.#takenUp();
    if (turn === null && this.#spontaneous === null && events.some(isSpeech)) this.#startSpontaneous();
    const target = turn ?? this.#spontaneous;
    target?.push(events);
    if (target !== null) return;
    for (const event of events) {
      if (event.type === "notice") this.#spec.host.notice({ level: event.level, text: event.text });
    }
  }

  #takenUp(): PromptTurn | null {
    return this.#turn?.started === true && !this.#turn.isOver ? this.#turn : null;
  }

  #startSpontaneous(): void {
    this.#spontaneous = new LiveTurn();
    this.#spec.host.spontaneousTurn(this.#spontaneous.events);
  }

  async #onRequest(id: string, request: Json): Promise<void> {
    const question = new AbortController();
    const turn = this.#turn ?? this.#spontaneous;
    const signal = turn === null ? question.signal : AbortSignal.any([question.signal, turn.signal]);
    this.#questions.set(id, question);
    this.#waits.begin(`question:${id}`);
    try {
      const answer = await answerRequest(request, this.#spec.agent.permission, this.#spec.host, signal);
      if (question.signal.aborted) return;
      if (answer !== null) this.#link?.respond(id, answer);
      else this.#link?.refuse(id, `Aegis does not answer "${textAt(request, "subtype")}".`);
    } catch (error) {
      this.#link?.refuse(id, errorText(error));
    } finally {
      this.#questions.delete(id);
      this.#waits.end(`question:${id}`);
    }
  }

  #onEnd(end: ProcessEnd, noise: string | null): void {
    for (const question of this.#questions.values()) question.abort();
    const message = `Claude Code ${endText(end, noise)} in the middle of a turn.`;
    const code = end.unreadable === null ? "died" : "protocol";
    const error: TurnError = { code, message, ...stderrOf(end) };
    if (this.#turn !== null && (this.#turn.stopping !== null || !this.#ready)) this.#endStopped(this.#turn);
    else this.#turn?.end({ reason: "failed", error, usage: null });
    this.#spontaneous?.end({
      reason: this.#ready ? "failed" : "cancelled",
      error: this.#ready ? error : null,
      usage: null,
    });
    this.#spontaneous = null;
  }
}

function failed(error: TurnError): DriverEvent {
  return { type: "turn.ended", reason: "failed", error, usage: null };
}

/** What only a turn brings. */
function isSpeech(event: DriverEvent): boolean {
  return ["text_delta", "thinking_delta", "text", "thinking", "tool_call"].includes(event.type);
}
