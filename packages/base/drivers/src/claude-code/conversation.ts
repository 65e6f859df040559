/** One conversation with a Claude Code process. */
import { randomUUID } from "node:crypto";
import { errorText } from "@aegis/lib/log.ts";
import { Additions } from "../cli-harness/additions.ts";
import { type JsonFields, textAt } from "../cli-harness/fields.ts";
import { endText, type ProcessEnd } from "../cli-harness/json-process.ts";
import type { CliOptions } from "../cli-harness/options.ts";
import { promptText, readImages } from "../cli-harness/prompt.ts";
import { Questions } from "../cli-harness/questions.ts";
import { type PromptTurn, Turns } from "../cli-harness/turns.ts";
import type {
  Addition,
  Conversation,
  ConversationSpec,
  DriverDeps,
  DriverEvent,
  Prompt,
  ResumeOutcome,
} from "../driver.ts";
import { begunAnew, restoredWith } from "../record.ts";
import { program } from "./facts.ts";
import type { ClaudeLink } from "./link.ts";
import { answerRequest } from "./permissions.ts";
import { startClaude, stderrOf } from "./start.ts";
import { readTranscript } from "./transcript.ts";
import { ClaudeTranslator, notice, raw } from "./translate.ts";

export class ClaudeConversation implements Conversation {
  readonly #spec: ConversationSpec;
  readonly #options: CliOptions;
  readonly #deps: DriverDeps;
  readonly #turns: Turns;
  readonly #questions: Questions<string>;
  readonly #additions = new Additions();
  #link: ClaudeLink | null = null;
  #translator: ClaudeTranslator | null = null;
  /** This CLI reports when it starts to work on a message. */
  #reportsLifecycle = false;
  #model: string | null;
  #restored = begunAnew;
  #isOpen = false;
  #isClosed = false;

  constructor(spec: ConversationSpec, options: CliOptions, deps: DriverDeps) {
    this.#spec = spec;
    this.#options = options;
    this.#deps = deps;
    this.#model = spec.agent.model;
    const { host } = spec;
    this.#turns = new Turns(
      {
        name: program.name,
        alive: () => this.alive,
        prepare: (turn) => this.#followModel(turn),
        deliver: async (prompt, turn) => {
          const content = await contentOf({ text: promptText(prompt), images: prompt.images });
          turn.name = randomUUID();
          this.#link?.prompt(content, turn.name);
        },
        interrupt: () => void this.#link?.control({ subtype: "interrupt" }).catch(() => {}),
        kill: async () => this.#link?.process.child.stop({ graceMs: 500 }),
        lastActivity: () => this.#link?.process.child.lastActivity() ?? 0,
      },
      { host, plane: spec.plane, clock: deps.clock, inactivityMs: options.inactivityMs },
    );
    this.#questions = new Questions(this.#turns);
  }

  get alive(): boolean {
    return this.#isOpen && (this.#link?.process.alive ?? false);
  }

  get restored(): ResumeOutcome {
    return this.#restored;
  }

  /** Throws `DriverError`. */
  async start(): Promise<void> {
    const handlers = {
      message: (message: JsonFields) => this.#onMessage(message),
      request: (id: string, request: JsonFields) => this.#onRequest(id, request),
      withdrawn: (id: string) => this.#questions.withdraw(id),
      noise: (line: string) => this.#turns.emit([raw(line)]),
      room: () => this.#turns.room(),
    };
    const started = await startClaude(this.#spec, this.#options, this.#deps, handlers, (link) => {
      this.#link = link;
      // Closed while opening: end the process here, because no other code knows it.
      if (this.#isClosed) void link.process.child.stop();
    });
    this.#translator = new ClaudeTranslator({
      waits: this.#turns.waits,
      resumed: started.resumed,
      wantsPlane: this.#spec.plane !== null,
    });
    const { resume, agent } = this.#spec;
    const env = { ...this.#deps.env, ...agent.env };
    if (started.resumed && resume !== null && started.id === resume)
      this.#restored = restoredWith(() => readTranscript(resume, env));
    this.#isOpen = !this.#isClosed;
    void started.link.process.ended.then((end) => this.#onEnd(end, started.link.process.firstNoise));
  }

  async close(): Promise<void> {
    this.#isOpen = false;
    this.#isClosed = true;
    this.#turns.close();
    await this.#link?.process.child.stop();
  }

  send(prompt: Prompt, signal: AbortSignal): AsyncIterable<DriverEvent> {
    return this.#turns.send(prompt, signal);
  }

  /** A message can join a turn only if the CLI reports when it starts to work on a message. */
  async steer(message: Addition): Promise<boolean> {
    const turn = this.#turns.current;
    const content = await contentOf(message);
    const isOpen = turn?.isTakenUp === true && turn.stopping === null && !turn.isOver;
    if (!this.#reportsLifecycle || !isOpen || !this.alive) return false;
    const uuid = randomUUID();
    const taken = this.#additions.add(uuid);
    this.#link?.prompt(content, uuid);
    return taken;
  }

  /** The profile's model may have changed since the process started. */
  async #followModel(turn: PromptTurn): Promise<void> {
    const { model } = this.#spec.agent;
    if (model === this.#model) return;
    try {
      await this.#link?.control({ subtype: "set_model", model: model ?? "default" });
      this.#model = model;
    } catch (error) {
      const text = `Claude Code did not change to model "${model}": ${errorText(error)}`;
      turn.push([notice("error", text)]);
    }
  }

  #onMessage(message: JsonFields): void {
    if (this.#translator === null) return;
    this.#noteStart(message);
    if (message.type === "result") {
      const { before, ended } = this.#translator.finish(message);
      void this.#additions.close((uuid) => this.#withdraw(uuid));
      this.#turns.finish(before, ended);
    } else {
      const events = this.#translator.translate(message);
      this.#turns.emit(events);
      this.#noteEnds(events);
    }
  }

  /** The CLI calls no hook for a tool that it refused itself. */
  #noteEnds(events: readonly DriverEvent[]): void {
    for (const event of events)
      if (event.type === "tool_result")
        void this.#spec.host.endTool({ call: event.call, tool: "", kind: "other", input: null });
  }

  /** A message that the CLI does not return is answered in a turn that it starts by itself. */
  async #withdraw(message_uuid: string): Promise<boolean> {
    const answer = await this.#link?.control({ subtype: "cancel_async_message", message_uuid }).catch(() => null);
    return answer?.cancelled === true;
  }

  /** Events before the CLI starts on our message belong to a turn that it started by itself. */
  #noteStart(message: JsonFields): void {
    if (message.type === "command_lifecycle") {
      this.#reportsLifecycle = true;
      if (message.state === "started") this.#additions.settle(textAt(message, "command_uuid") ?? "", true);
    }
    const turn = this.#turns.current;
    if (turn === null || turn.isTakenUp || turn.name === null) return;
    const isTakenUp =
      message.type === "command_lifecycle"
        ? message.command_uuid === turn.name && message.state === "started"
        : message.type === "user"
          ? message.isReplay === true && message.uuid === turn.name
          : message.type === "system" && message.subtype === "init" && !this.#reportsLifecycle;
    if (!isTakenUp) return;
    this.#turns.takeUp(turn);
    this.#turns.accept(turn);
  }

  #onRequest(id: string, request: JsonFields): void {
    const { host, agent } = this.#spec;
    void this.#questions.ask(
      id,
      textAt(request, "subtype") ?? "",
      (signal) => answerRequest(request, agent.permission, host, signal),
      {
        respond: (answer) => this.#link?.respond(id, answer),
        refuse: (reason) => this.#link?.refuse(id, reason),
      },
    );
  }

  #onEnd(end: ProcessEnd, noise: string | null): void {
    this.#questions.withdrawAll();
    this.#additions.drop();
    const message = `Claude Code ${endText(end, noise)} in the middle of a turn.`;
    const code = end.unreadable === null ? "died" : "protocol";
    this.#turns.died({ code, message, ...stderrOf(end) });
  }
}

async function contentOf({ text, images }: Pick<Addition, "text" | "images">): Promise<JsonFields[]> {
  const pictures = (await readImages(images)).map((source) => ({
    type: "image",
    source: { type: "base64", ...source },
  }));
  return [...pictures, { type: "text", text }];
}
