/** One Codex app server: verifies that it speaks the protocol, and routes its messages to the conversations. */
import type { TurnError } from "@aegis/contract/turn.ts";
import { packageVersion } from "@aegis/lib/version.ts";
import { type JsonFields, listAt, objectAt, textAt } from "../cli-harness/fields.ts";
import { endText, type ProcessEnd } from "../cli-harness/json-process.ts";
import { readiness, spawnFailure } from "../cli-harness/start.ts";
import { type AskConsent, type DriverDeps, DriverError, type SpawnCommand } from "../driver.ts";
import { program } from "./facts.ts";
import { type RequestId, Rpc } from "./rpc.ts";

/** Handlers for the messages of one thread. */
export type ThreadHandlers = {
  notification(method: string, params: JsonFields): void;
  request(id: RequestId, method: string, params: JsonFields): void;
  room(): Promise<void> | null;
};

const readyDeadlineMs = 30_000;
export class AppServer {
  readonly rpc: Rpc;
  readonly #threads = new Map<string, ThreadHandlers>();
  /** Messages about threads whose ids are not known yet. */
  #held: { thread: string; hand: (handlers: ThreadHandlers) => void }[] = [];
  #opening = 0;

  private constructor(rpc: (handlers: ConstructorParameters<typeof Rpc>[1]) => Rpc, log: DriverDeps["log"]) {
    this.rpc = rpc({
      notification: (method, params) => {
        const thread = threadOf(params);
        if (thread === null) log.debug("codex says", { method, params });
        else this.#hand(thread, (handlers) => handlers.notification(method, params));
      },
      request: (id, method, params) => {
        const thread = threadOf(params);
        if (thread === null) this.rpc.refuse(id, `Aegis does not answer "${method}".`);
        else this.#hand(thread, (handlers) => handlers.request(id, method, params));
      },
      // All threads share the pipe, so it is read at the pace of the slowest.
      room: () => {
        for (const thread of this.#threads.values()) {
          const room = thread.room();
          if (room !== null) return room;
        }
        return null;
      },
      noise: (line) => log.debug("codex printed a line that is not JSON", { line: line.slice(0, 500) }),
    });
  }

  /** Throws `DriverError`. */
  static async start(command: SpawnCommand, deps: DriverDeps, ask: AskConsent): Promise<AppServer> {
    const consent = await ask();
    const child = await deps.processes.start(command, consent).catch((error: unknown) => {
      throw spawnFailure(program, command.argv[0], command.cwd, error);
    });
    const server = new AppServer((handlers) => new Rpc(child, handlers), deps.log);
    const error = await becomeReady(server.rpc, deps);
    if (error === null) return server;
    await child.stop();
    throw new DriverError(error);
  }

  get alive(): boolean {
    return this.rpc.process.alive;
  }

  /** Runs an operation that opens a thread: the server sends messages about it before the answer that names it. */
  async opening<T>(open: () => Promise<T>): Promise<T> {
    this.#opening += 1;
    try {
      return await open();
    } finally {
      this.#opening -= 1;
      if (this.#opening === 0) this.#held = [];
    }
  }

  /**
   * Also delivers messages that arrived while the thread was opened. The returned function detaches, and returns true
   * if no other conversation has attached since.
   */
  attach(thread: string, handlers: ThreadHandlers): () => boolean {
    this.#threads.set(thread, handlers);
    const waiting = this.#held.filter((held) => held.thread === thread);
    this.#held = this.#held.filter((held) => held.thread !== thread);
    for (const held of waiting) held.hand(handlers);
    return () => this.#threads.get(thread) === handlers && this.#threads.delete(thread);
  }

  /** True for a thread that is loaded although no conversation here uses it. */
  async hasIdle(thread: string): Promise<boolean> {
    if (this.#threads.has(thread)) return false;
    const loaded = await this.rpc.call("thread/loaded/list", {}).catch(() => ({}) as JsonFields);
    return listAt(loaded, "data").includes(thread);
  }

  #hand(thread: string, hand: (handlers: ThreadHandlers) => void): void {
    const handlers = this.#threads.get(thread);
    if (handlers !== undefined) hand(handlers);
    else if (this.#opening > 0) this.#held.push({ thread, hand });
  }
}

async function becomeReady(rpc: Rpc, deps: DriverDeps): Promise<TurnError | null> {
  const clientInfo = { name: "aegis", title: "Aegis", version: packageVersion() };
  const answer = rpc.call("initialize", { clientInfo, capabilities: { experimentalApi: true } });
  const outcome = await readiness(answer, readyDeadlineMs, deps.clock);
  if (outcome !== "ready") {
    const { process } = rpc;
    if (process.alive) await process.child.stop();
    return startError(await process.ended, process.firstNoise, outcome === "late");
  }
  rpc.notify("initialized");
  return notLoggedIn(rpc);
}

/**
 * The app server needs a login, not only a key in the environment. Without this check the first turn would fail after
 * many attempts.
 */
async function notLoggedIn(rpc: Rpc): Promise<TurnError | null> {
  const answer = await rpc.call("account/read", { refreshToken: false }).catch(() => ({}) as JsonFields);
  if (answer.requiresOpenaiAuth !== true || answer.account !== null) return null;
  const fix = "Run `codex login`, or `printenv OPENAI_API_KEY | codex login --with-api-key`.";
  return { code: "not_logged_in", message: "Codex is not logged in.", fix };
}

function startError(end: ProcessEnd, noise: string | null, isLate: boolean): TurnError {
  const happened = isLate ? `did not become ready within ${readyDeadlineMs / 1000} s` : endText(end, noise);
  const isForeign = noise !== null || end.unreadable !== null;
  const tooOld = /unrecognized subcommand|stdin is not a terminal/.test(end.stderr);
  const fix = tooOld
    ? `Update it: ${program.install}@latest`
    : isForeign
      ? "Check that the agent's command is the Codex CLI."
      : null;
  return {
    code: isForeign ? "protocol" : "start",
    message: `Codex ${happened}${isLate ? "" : " before it was ready"}.`,
    ...(fix === null ? {} : { fix }),
    ...stderrOf(end),
  };
}

export function stderrOf(end: ProcessEnd): { stderr?: string } {
  return end.stderr === "" ? {} : { stderr: end.stderr };
}

function threadOf(params: JsonFields): string | null {
  return textAt(params, "threadId") ?? textAt(objectAt(params, "thread"), "id");
}
