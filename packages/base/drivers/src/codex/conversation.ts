/** One conversation with Codex: a thread of an app server that other conversations may share. */
import { randomUUID } from "node:crypto";
import { planeServer } from "@aegis/contract/tool-names.ts";
import { Additions } from "../cli-harness/additions.ts";
import { type JsonFields, listAt, objectAt, textAt } from "../cli-harness/fields.ts";
import { endText, type ProcessEnd } from "../cli-harness/json-process.ts";
import { ToolObserver } from "../cli-harness/observer.ts";
import { type CliOptions, parseCliOptions } from "../cli-harness/options.ts";
import { promptText } from "../cli-harness/prompt.ts";
import { Questions } from "../cli-harness/questions.ts";
import { type PromptTurn, Turns } from "../cli-harness/turns.ts";
import type {
  Addition,
  Conversation,
  ConversationSpec,
  Driver,
  DriverDeps,
  DriverEvent,
  Prompt,
  ResumeOutcome,
} from "../driver.ts";
import { begunAnew, restoredWith } from "../record.ts";
import { stderrOf } from "./app-server.ts";
import { type AppServerLease, AppServers } from "./app-servers.ts";
import { answerRequest } from "./approvals.ts";
import { buildCommand } from "./command.ts";
import { program } from "./facts.ts";
import type { RequestId, Rpc } from "./rpc.ts";
import { type TypedInput, typedEvents, typedIn, typingError } from "./terminals.ts";
import { type OpenThread, openThread, parseName, userTexts } from "./threads.ts";
import { codexSpec } from "./tool-access.ts";
import { CodexTranslator, notice } from "./translate.ts";

/** Codex continues without a server that takes longer than about a second. */
const planeDeadlineMs = 15_000;

class CodexConversation implements Conversation {
  readonly #spec: ConversationSpec;
  readonly #options: CliOptions;
  readonly #deps: DriverDeps;
  readonly #turns: Turns;
  readonly #translator: CodexTranslator;
  readonly #questions: Questions<RequestId>;
  readonly #additions = new Additions();
  readonly #observer: ToolObserver;
  /** The file changes of a patch, by the item that Codex asks about. */
  readonly #changes = new Map<string, readonly unknown[]>();
  /** Reasons of denied calls that did not reach the turn they belong to. */
  #untold: string[] = [];
  /** Settles when each denial so far has been reported, or is kept for the next prompt. */
  #telling: Promise<unknown> = Promise.resolve();
  /** Threads of subagents, each with the call that started it. */
  readonly #children = new Map<string, string>();
  readonly #attached = new Map<string, () => boolean>();
  /** Resolves when Codex has reached the plane, or has given up on it. */
  readonly #plane = Promise.withResolvers<void>();
  #lease: AppServerLease | null = null;
  #thread: OpenThread | null = null;
  /** When this thread was last active. The process is shared, so its output says nothing about one thread. */
  #heardAt: number;
  #isClosed = false;
  /** What was typed into commands in the current turn, which therefore ends. */
  #typed = 0;

  constructor(spec: ConversationSpec, options: CliOptions, deps: DriverDeps) {
    this.#spec = spec;
    this.#options = options;
    this.#deps = deps;
    this.#heardAt = deps.clock.now();
    this.#turns = new Turns(
      {
        name: program.name,
        alive: () => this.alive,
        prepare: async (turn) => {
          await this.#awaitPlane(turn);
          await this.#telling;
        },
        deliver: (prompt, turn) => this.#deliver(prompt, turn),
        interrupt: (turn) => this.#interrupt(turn),
        kill: async () => this.#lease?.server.rpc.process.child.stop({ graceMs: 500 }),
        lastActivity: () => this.#heardAt,
      },
      { host: spec.host, plane: spec.plane, clock: deps.clock, inactivityMs: options.inactivityMs },
    );
    this.#translator = new CodexTranslator(this.#turns.waits);
    this.#questions = new Questions(this.#turns);
    this.#observer = new ToolObserver(spec.host, (tool) => tool.startsWith(`mcp__${planeServer}__`));
    if (spec.plane === null) this.#plane.resolve();
  }

  get alive(): boolean {
    return this.#thread !== null && (this.#lease?.server.alive ?? false);
  }

  get restored(): ResumeOutcome {
    const [rpc, thread] = [this.#rpc(), this.#thread];
    if (thread?.resumed !== true) return begunAnew;
    return restoredWith(async () => (rpc === null ? null : userTexts(rpc, thread.id)));
  }

  /** Throws `DriverError`. */
  async start(servers: AppServers): Promise<void> {
    const command = buildCommand(this.#spec, this.#options.command, this.#deps.env);
    const { host, session } = this.#spec;
    const lease = await servers.acquire(await host.prepareSpawn(command), {
      processes: host.processes,
      consent: () => host.consent(),
      alone: host.confined ? session.id : null,
    });
    this.#lease = lease;
    const { rpc } = lease.server;
    // A thread that is still loaded sends messages before its answer is read.
    const known = this.#spec.resume === null ? null : parseName(this.#spec.resume).id;
    if (known !== null) this.#attach(known, null);
    await lease.server.opening(async () => {
      const thread = await openThread(rpc, this.#spec, (id) => servers.unload(id), this.#deps.env);
      if (known !== null && known !== thread.id) this.#attached.get(known)?.();
      if (this.#isClosed) return;
      this.#thread = thread;
      if (known !== thread.id) this.#attach(thread.id, null);
    });
    // Closed while opening: release the process here, because no other code would.
    if (this.#isClosed) await lease.release();
    void rpc.process.ended.then((end) => this.#onEnd(end, rpc.process.firstNoise));
  }

  async close(): Promise<void> {
    const [rpc, thread] = [this.#rpc(), this.#thread];
    this.#thread = null;
    this.#isClosed = true;
    const turnId = this.#turns.current?.name;
    if (rpc !== null && thread !== null && turnId != null) {
      rpc.call("turn/interrupt", { threadId: thread.id, turnId }).catch(() => {});
    }
    for (const [threadId, detach] of this.#attached) {
      if (detach()) rpc?.call("thread/unsubscribe", { threadId }).catch(() => {});
    }
    this.#turns.close();
    await this.#lease?.release();
  }

  send(prompt: Prompt, signal: AbortSignal): AsyncIterable<DriverEvent> {
    return this.#turns.send(prompt, signal);
  }

  /** The end of the turn settles it too: a refusal may come later, or never. */
  async steer(message: Pick<Addition, "text" | "images">): Promise<boolean> {
    const [rpc, thread] = [this.#rpc(), this.#thread];
    const expectedTurnId = this.#turns.current?.name;
    if (rpc === null || thread === null || expectedTurnId == null) return false;
    const clientUserMessageId = randomUUID();
    const taken = this.#additions.add(clientUserMessageId);
    const input = inputOf(message);
    rpc
      .call("turn/steer", { threadId: thread.id, expectedTurnId, clientUserMessageId, input })
      .catch(() => this.#additions.settle(clientUserMessageId, false));
    return taken;
  }

  /** An answer has no field for the reason, so it is sent as a message. */
  async #tellDenial(reason: string): Promise<void> {
    const text = `your call was denied: ${reason}`;
    if (!(await this.steer({ text: `[Aegis: ${text}]`, images: [] }))) this.#untold.push(text);
  }

  #rpc(): Rpc | null {
    return this.#lease?.server.alive === true ? this.#lease.server.rpc : null;
  }

  async #awaitPlane(turn: PromptTurn): Promise<void> {
    const settled = this.#plane.promise.then(() => true);
    const late = this.#deps.clock.sleep(planeDeadlineMs, turn.signal).then(
      () => false,
      () => true,
    );
    if (await Promise.race([settled, late])) return;
    this.#plane.resolve();
    const seconds = planeDeadlineMs / 1000;
    const text = `The Aegis tools are not available: Codex did not reach their MCP server within ${seconds} s.`;
    turn.push([notice("error", text)]);
  }

  async #deliver(prompt: Prompt, turn: PromptTurn): Promise<void> {
    const [rpc, thread] = [this.#rpc(), this.#thread];
    if (rpc === null || thread === null) throw new Error("its process has exited");
    const { effort } = this.#spec.agent;
    const model = this.#spec.agent.model ?? thread.model;
    turn.push(this.#translator.modelNow(model));
    const started = await rpc.call("turn/start", {
      threadId: thread.id,
      input: inputOf({ text: promptText(prompt, this.#untold.splice(0)), images: prompt.images }),
      ...(model === "" ? {} : { model }),
      ...(effort === null ? {} : { effort }),
    });
    turn.name ??= textAt(objectAt(started, "turn"), "id");
  }

  #interrupt(turn: PromptTurn): void {
    if (turn.name === null || this.#thread === null) return;
    this.#rpc()
      ?.call("turn/interrupt", { threadId: this.#thread.id, turnId: turn.name })
      .catch(() => {});
  }

  #attach(thread: string, parent: string | null): void {
    const handlers = {
      notification: (method: string, params: JsonFields) => this.#onNotification(method, params, parent),
      request: (id: RequestId, method: string, params: JsonFields) => this.#onRequest(id, method, params),
      room: () => this.#turns.room(),
    };
    const detach = this.#lease?.server.attach(thread, handlers);
    if (detach !== undefined) this.#attached.set(thread, detach);
  }

  #onNotification(method: string, params: JsonFields, parent: string | null): void {
    this.#heardAt = this.#deps.clock.now();
    if (method === "serverRequest/resolved") {
      const { requestId } = params;
      if (typeof requestId === "string" || typeof requestId === "number") this.#questions.withdraw(requestId);
    }
    if (isPlaneSettled(method, params)) this.#plane.resolve();
    if (parent === null) this.#noteStart(method, params);
    this.#noteChildren(params);
    this.#noteChanges(method, params);
    const typed = typedIn(method, params);
    if (typed !== null) this.#stopTyping(typed, params);
    const events = this.#translator.translate(method, params, parent);
    this.#turns.emit(events);
    this.#observer.see(events);
    if (parent !== null || method !== "turn/completed") return;
    const { before, ended } = this.#translator.finish(objectAt(params, "turn"));
    void this.#additions.close(async () => true);
    this.#turns.finish(before, this.#typed === 0 ? ended : { ...ended, reason: "refused", error: typingError });
    this.#typed = 0;
  }

  /** Ends the turn and the command into which the model typed, which would otherwise go on with what it has read. */
  #stopTyping(typed: TypedInput, params: JsonFields): void {
    this.#typed += 1;
    this.#turns.emit(typedEvents(typed, this.#typed));
    const threadId = textAt(params, "threadId");
    const rpc = this.#rpc();
    rpc?.call("thread/backgroundTerminals/terminate", { threadId, processId: typed.process }).catch(() => {});
    rpc?.call("turn/interrupt", { threadId, turnId: textAt(params, "turnId") }).catch(() => {});
    // What was typed in a subagent's thread ends the turn that started it.
    const turn = this.#turns.current;
    if (turn !== null && threadId !== this.#thread?.id) this.#interrupt(turn);
  }

  /** A turn begins before Codex has stored the prompt. It is stored once the message comes back as an item. */
  #noteStart(method: string, params: JsonFields): void {
    const turn = this.#turns.current;
    if (turn === null || !turn.isSent) return;
    if (method === "turn/started" && !turn.isTakenUp) {
      turn.name ??= textAt(objectAt(params, "turn"), "id");
      this.#turns.takeUp(turn);
    }
    const item = objectAt(params, "item");
    if (method !== "item/completed" || item.type !== "userMessage") return;
    if (turn.isTakenUp) this.#turns.accept(turn);
    this.#additions.settle(textAt(item, "clientId") ?? "", true);
  }

  #noteChanges(method: string, params: JsonFields): void {
    const item = objectAt(params, "item");
    if (item.type !== "fileChange") return;
    const id = textAt(item, "id") ?? "";
    if (method === "item/started") this.#changes.set(id, listAt(item, "changes"));
    if (method === "item/completed") this.#changes.delete(id);
  }

  #noteChildren(params: JsonFields): void {
    const item = objectAt(params, "item");
    if (item.type !== "collabAgentToolCall") return;
    const call = textAt(item, "id") ?? "";
    for (const child of listAt(item, "receiverThreadIds")) {
      if (typeof child !== "string" || child === this.#thread?.id || this.#children.has(child)) continue;
      this.#children.set(child, call);
      this.#attach(child, call);
    }
  }

  #onRequest(id: RequestId, method: string, params: JsonFields): void {
    this.#heardAt = this.#deps.clock.now();
    const denied: string[] = [];
    const { host, agent, cwd } = this.#spec;
    const changes = this.#changes.get(textAt(params, "itemId") ?? "") ?? [];
    const terminals = this.#thread?.terminals ?? true;
    const asked = { method, params, changes, host, permission: agent.permission, cwd, terminals };
    void this.#questions.ask(
      id,
      method,
      (signal) => answerRequest({ ...asked, signal, onDenial: (reason) => denied.push(reason) }),
      {
        respond: (answer) => {
          this.#rpc()?.respond(id, answer);
          this.#telling = Promise.all([this.#telling, ...denied.map((reason) => this.#tellDenial(reason))]);
        },
        refuse: (reason) => this.#rpc()?.refuse(id, reason),
      },
    );
  }

  #onEnd(end: ProcessEnd, noise: string | null): void {
    this.#questions.withdrawAll();
    this.#additions.drop();
    const message = `Codex ${endText(end, noise)} in the middle of a turn.`;
    const code = end.unreadable === null ? "died" : "protocol";
    this.#turns.died({ code, message, ...stderrOf(end) });
  }
}

function isPlaneSettled(method: string, params: JsonFields): boolean {
  return method === "mcpServer/startupStatus/updated" && params.name === planeServer && params.status !== "starting";
}

function inputOf({ text, images }: Pick<Addition, "text" | "images">): JsonFields[] {
  const pictures = images.map(({ path }) => ({ type: "localImage", path }));
  return [...pictures, { type: "text", text, text_elements: [] }];
}

/** Conversations with equal settings share an app server. */
export function openerOf(deps: DriverDeps): Driver["open"] {
  const servers = new AppServers(deps);
  return async (spec, scope) => {
    const conversation = new CodexConversation(codexSpec(spec), parseCliOptions(spec.agent, program.command), deps);
    scope.defer(() => conversation.close());
    await conversation.start(servers);
    return conversation;
  };
}
