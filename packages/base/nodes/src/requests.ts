/**
 * Requests to the process of another node, as rows. The node carries each one out once and stores the result in the row.
 * A command that has expired is never carried out.
 */
import { randomUUID } from "node:crypto";
import { AegisError, type ErrorBody, isAegisError } from "@aegis/contract/errors.ts";
import type { Clock } from "@aegis/lib/clock.ts";
import { errorText, type Logger } from "@aegis/lib/log.ts";
import type { CommandRow, Store, StoreMembership } from "@aegis/store/store.ts";

/** Carries out one kind of command. `args` is what the sender gave. */
export type CommandHandler = (args: unknown) => Promise<unknown>;

export type CommandsOptions = { store: Store; clock: Clock; log: Logger; signal: AbortSignal };

/** A session that needs longer to stop is reported as a timeout; it still stops. */
const usualPatienceMs = 15_000;
/** For hints that were lost. */
const lookMs = 2_000;

type Result = { value: unknown } | ErrorBody;

export class Commands {
  readonly #options: CommandsOptions;
  readonly #handlers = new Map<string, CommandHandler>();
  readonly #done = new Set<string>();
  #looking: Promise<void> | null = null;
  #again = false;

  constructor(options: CommandsOptions) {
    this.#options = options;
  }

  handle(what: string, handler: CommandHandler): void {
    this.#handlers.set(what, handler);
  }

  /** Carries out what other nodes ask for, until the signal aborts. */
  start(membership: StoreMembership): void {
    const { signal } = this.#options;
    const stop = membership.onHint((hint) => {
      if (hint === hintFor(membership.node)) this.#look(membership.node);
    });
    signal.addEventListener("abort", stop, { once: true });
    void this.#lookForEver(membership.node);
  }

  /** Throws the error of the other node, or `timeout` if the node does not answer in time. */
  async send(node: string, what: string, args: unknown, patienceMs: number = usualPatienceMs): Promise<unknown> {
    const { store, clock, signal } = this.#options;
    const name = randomUUID();
    const { membership } = store;
    const news = { heard: Promise.withResolvers<void>() };
    const stop = membership?.onHint((hint) => {
      if (hint === hintOfResult(name)) news.heard.resolve();
    });
    try {
      await store.transact(async (tx) => {
        const target = await tx.nodes.get(node);
        if (!target?.alive) throw away(node);
        await tx.nodes.addCommand({ name, node, what, args, expires_ms: patienceMs });
        await tx.nodes.tell(hintFor(node));
      });
      for (const until = clock.now() + patienceMs; clock.now() < until; ) {
        await Promise.race([news.heard.promise, clock.sleep(lookMs, signal)]);
        const row = await store.read.nodes.command(name);
        if (row !== null && row.result !== null) return unwrapped(row.result as Result);
        if (!(await store.read.nodes.get(node))?.alive) throw away(node);
      }
      throw new AegisError("timeout", `node "${node}" did not answer within ${patienceMs / 1_000} s`);
    } finally {
      stop?.();
      store.transact((tx) => tx.nodes.removeCommand(name)).catch(() => {});
    }
  }

  #look(node: string): void {
    this.#again = true;
    this.#looking ??= this.#work(node).finally(() => {
      this.#looking = null;
    });
  }

  async #lookForEver(node: string): Promise<void> {
    const { clock, signal } = this.#options;
    while (!signal.aborted) {
      this.#look(node);
      await clock.sleep(lookMs, signal).catch(() => {});
    }
  }

  async #work(node: string): Promise<void> {
    const { store, log, signal } = this.#options;
    while (this.#again && !signal.aborted) {
      this.#again = false;
      try {
        const commands = await store.read.nodes.commandsFor(node);
        for (const command of commands.filter(({ name }) => !this.#done.has(name))) {
          this.#done.add(command.name);
          // Side by side: one that waits for the end of a turn does not delay the others.
          void this.#carryOut(command);
        }
      } catch (error) {
        if (!signal.aborted) log.warn("commands from other nodes could not be read", { error: errorText(error) });
      }
    }
  }

  async #carryOut({ name, what, args, expires_ms }: CommandRow): Promise<void> {
    const { store, log } = this.#options;
    try {
      const result = await this.#resultOf(what, args);
      await store.transact(async (tx) => {
        await tx.nodes.finishCommand(name, result);
        await tx.nodes.tell(hintOfResult(name));
      });
    } catch (error) {
      log.warn("the result of a command could not be stored", { what, error: errorText(error) });
    } finally {
      // The row stays longer than the command may be carried out.
      setTimeout(() => this.#done.delete(name), expires_ms + usualPatienceMs).unref();
    }
  }

  async #resultOf(what: string, args: unknown): Promise<Result> {
    const handler = this.#handlers.get(what);
    try {
      if (handler === undefined) throw new AegisError("invalid", `this node does not know the command "${what}"`);
      return { value: (await handler(args)) ?? null };
    } catch (error) {
      return (isAegisError(error) ? error : new AegisError("internal", errorText(error))).toBody();
    }
  }
}

function unwrapped(result: Result): unknown {
  if ("error" in result) throw AegisError.fromBody(result);
  return result.value;
}

function away(node: string): AegisError {
  return new AegisError("unavailable", `node "${node}" is away`, { hint: "`aegis nodes` shows the nodes" });
}

function hintFor(node: string): string {
  return `commands ${node}`;
}

function hintOfResult(name: string): string {
  return `result ${name}`;
}
