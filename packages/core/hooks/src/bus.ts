/**
 * Calls hooks and composes their results into one outcome. Consecutive hooks of one plugin share one round trip. The
 * bus validates results and enforces timeouts again, because a plugin's worker may be gone, stuck or hostile.
 */
import {
  type HookCallResult,
  type HookContexts,
  type HookDeclaration,
  type HookEvent,
  type HookObserver,
  type HookResults,
  hookKinds,
} from "@aegis/contract/hook.ts";
import type { SessionId } from "@aegis/contract/ids.ts";
import type { Clock } from "@aegis/lib/clock.ts";
import { errorText, type Logger } from "@aegis/lib/log.ts";
import { onAbort, unlessAborted } from "@aegis/lib/until-aborted.ts";
import { stopsWhenFailing } from "./hook-batch.ts";
import { applyResult, type ComposedEvent, ends, type HookOutcomes, outcomeOf } from "./hook-compose.ts";
import { checkResult } from "./hook-results.ts";
import type { HookRunner, HookTable, PlacedHook } from "./hook-table.ts";
import { ObserverQueues } from "./observer-queues.ts";
import type { HookRecord } from "./record.ts";

export type HookBusOptions = {
  table: HookTable;
  clock: Clock;
  log: Logger;
  /** The default timeout of a hook. */
  timeoutMs: () => number;
  /** Called for each hook call. Must not throw. */
  record: (call: HookRecord) => void;
};

type Group = { plugin: string; run: HookRunner; hooks: readonly HookDeclaration[] };
type Called = { hook: HookDeclaration; result: HookCallResult };

/** How long the daemon waits beyond a worker's own timeout. */
const marginMs = 1_000;
/** The maximum of pending observer calls per plugin. */
const mostWaiting = 1_000;
/** A plugin can throw an error with a stack of any length. */
const longestStack = 4_000;

export class HookBus {
  readonly #options: HookBusOptions;
  readonly #queues: ObserverQueues;
  readonly #stop = new AbortController();
  #begin: ((session: SessionId) => Promise<void>) | null = null;

  constructor(options: HookBusOptions) {
    this.#options = options;
    this.#queues = new ObserverQueues(mostWaiting, (plugin, left) =>
      options.log.warn("a plugin's hooks cannot keep up; calls to its observers were left out", { plugin, left }),
    );
  }

  /** The events that have hooks at the moment. Check it before building a context: most events have none. */
  get events(): ReadonlySet<HookEvent> {
    return this.#options.table.events;
  }

  /** The plugins that have hooks for the event, in call order. */
  pluginsWith(event: HookEvent): readonly string[] {
    return [...new Set(this.#options.table.of(event).map(({ plugin }) => plugin))];
  }

  /** Called before a session's first call of a mutator or gate, because `session_start` comes before all others. */
  useStart(begin: (session: SessionId) => Promise<void>): void {
    this.#begin = begin;
  }

  /** Never rejects. Aborting ends it immediately: a gate then denies, anything else keeps the result so far. */
  async run<E extends ComposedEvent>(
    event: E,
    context: HookContexts[E],
    signal: AbortSignal,
  ): Promise<HookOutcomes[E]> {
    if (this.#options.table.loading(event) !== null) await this.#loaded(event, null, signal);
    const session = sessionOf(context);
    if (session !== null && this.#begin !== null && this.#options.table.events.has("session_start"))
      await unlessAborted(this.#begin(session), signal);
    const results: HookResults[E][] = [];
    let current = context;
    for (const group of groupsOf(this.#options.table.of(event))) {
      for (const { hook, result } of await this.#call(group, event, current, signal)) {
        const given = this.#resultOf(event, group.plugin, hook, result);
        if (given === null) continue;
        results.push(given);
        current = applyResult(event, current, given);
        if (ends(event, given)) return outcomeOf(event, results);
      }
      if (signal.aborted) break;
    }
    if (signal.aborted && hookKinds[event] === "gate")
      results.push({ decision: "deny", reason: "the call was abandoned before every gate had checked it" } as never);
    return outcomeOf(event, results);
  }

  /**
   * Schedules observer calls; calls in one lane run in order. Plugins do not wait for each other, and the caller waits
   * for none.
   */
  observe<E extends HookObserver>(event: E, context: HookContexts[E], lane: string): void {
    for (const plugin of this.pluginsWith(event)) this.observeIn(plugin, event, context, lane);
  }

  /** Like `observe`, for one plugin. Resolves when its hooks have returned, failed or timed out. */
  observeIn<E extends HookObserver>(plugin: string, event: E, context: HookContexts[E], lane: string): Promise<void> {
    // Looked up when the call runs, because the plugin may have been reloaded since.
    return this.#queues.add(plugin, lane, async () => {
      if (this.#options.table.loading(event, plugin) !== null) await this.#loaded(event, plugin, this.#stop.signal);
      for (const group of groupsOf(this.#options.table.of(event)))
        if (group.plugin === plugin) await this.#call(group, event, context, this.#stop.signal);
    });
  }

  /** Resolves when no observer call is pending, or at the deadline. */
  async idle(deadline: AbortSignal): Promise<void> {
    await this.#queues.empty(deadline);
  }

  /** Like `idle`, for shutdown: calls that are still pending at the deadline are dropped. */
  async drain(deadline: AbortSignal): Promise<void> {
    const giveUp = () => this.#stop.abort("the daemon stops");
    const release = onAbort(deadline, giveUp);
    const left = await this.#queues.empty(deadline);
    release();
    if (left > 0) this.#options.log.warn("calls to observers were left out at the end", { left });
  }

  /** Waits for plugins that are still being loaded and have such hooks. The wait does not count for the timeouts. */
  async #loaded(event: HookEvent, plugin: string | null, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const loading = this.#options.table.loading(event, plugin);
      if (loading === null) return;
      await unlessAborted(loading, signal);
    }
  }

  /** Returns one answer for each hook that was or should have been called. */
  async #call<E extends HookEvent>(
    { plugin, run, hooks }: Group,
    event: E,
    context: HookContexts[E],
    signal: AbortSignal,
  ): Promise<Called[]> {
    const { clock } = this.#options;
    const fallback = this.#options.timeoutMs();
    const timed = hooks.map(({ name, strict, timeoutMs }) => ({ name, strict, timeoutMs: timeoutMs ?? fallback }));
    const budget = timed.reduce((sum, { timeoutMs }) => sum + timeoutMs, marginMs);
    const started = clock.now();
    const over = new AbortController();
    const release = onAbort(signal, () => over.abort(signal.reason));
    let answer: Answer;
    try {
      const late = clock.sleep(budget, over.signal).then(
        () => failed("timeout", `gave no answer within ${budget} ms`),
        () => failed("exception", "was given up"),
      );
      const answered = Promise.try(run, { event, hooks: timed, context }, over.signal).then(
        (results): Answer => ({ results }),
        (error: unknown) => failed("exception", errorText(error)),
      );
      answer = await Promise.race([answered, late]);
    } finally {
      release();
      over.abort("over");
    }
    const called = answersOf(event, hooks, answer, clock.now() - started);
    for (const one of called) this.#record(event, plugin, one, context);
    return called;
  }

  /** The result that counts for the hook, including after a failure. */
  #resultOf<E extends ComposedEvent>(
    event: E,
    plugin: string,
    { name, strict }: HookDeclaration,
    result: HookCallResult,
  ): HookResults[E] | null {
    if (result.status === "ok") return result.value as HookResults[E] | null;
    if (!stopsWhenFailing(event, strict)) return null;
    const what = result.status === "timeout" ? "timed out" : "raised";
    const failure =
      hookKinds[event] === "gate"
        ? { decision: "deny", reason: `denied because the gate ${plugin}.${name} ${what}: ${result.error}` }
        : { block: `strict hook ${plugin}.${name} ${what}: ${result.error}` };
    return failure as HookResults[E];
  }

  #record(event: HookEvent, plugin: string, { hook, result }: Called, context: unknown): void {
    const { log, record, clock } = this.#options;
    const error = result.status === "ok" ? {} : { error: result.error };
    const stack = result.status === "exception" && result.stack !== undefined ? { stack: result.stack } : {};
    if (result.status !== "ok")
      log.warn("a hook failed", { plugin, hook: hook.name, event, status: result.status, ...error });
    const session = sessionOf(context);
    record({
      ts: clock.now(),
      duration_ms: Math.round(result.durationMs * 1_000) / 1_000,
      event,
      plugin,
      hook: hook.name,
      strict: hook.strict,
      status: result.status,
      ...error,
      ...stack,
      ...(session === null ? {} : { session }),
    });
  }
}

type Failed = { status: "timeout" | "exception"; error: string };
type Answer = { results: unknown } | Failed;

function failed(status: Failed["status"], error: string): Failed {
  return { status, error };
}

/** Groups consecutive hooks of the same plugin. */
function groupsOf(placed: readonly PlacedHook[]): Group[] {
  const groups: (Group & { hooks: HookDeclaration[] })[] = [];
  for (const { plugin, run, declaration } of placed) {
    const last = groups.at(-1);
    if (last !== undefined && last.run === run && last.plugin === plugin) last.hooks.push(declaration);
    else groups.push({ plugin, run, hooks: [declaration] });
  }
  return groups;
}

/** The answer per hook, up to the hook that ended the round. */
function answersOf(event: HookEvent, hooks: readonly HookDeclaration[], answer: Answer, durationMs: number): Called[] {
  const called: Called[] = [];
  const given = "results" in answer && Array.isArray(answer.results) ? (answer.results as unknown[]) : [];
  const missing = "results" in answer ? failed("exception", "gave no answer") : answer;
  for (const [index, hook] of hooks.entries()) {
    const result = checkCall(event, hook, given[index]) ?? { hook: hook.name, durationMs, ...missing };
    called.push({ hook, result });
    if (result.status === "ok" ? ends(event, result.value as never) : stopsWhenFailing(event, hook.strict)) break;
  }
  return called;
}

/** Returns null if the worker's reply does not match this hook. */
function checkCall(event: HookEvent, hook: HookDeclaration, given: unknown): HookCallResult | null {
  if (typeof given !== "object" || given === null) return null;
  const { hook: name, status, durationMs, value, error, stack } = given as Record<string, unknown>;
  if (name !== hook.name || typeof durationMs !== "number") return null;
  if (status === "timeout") return { hook: name, durationMs, status, error: String(error) };
  if (status === "exception") {
    const trace = typeof stack === "string" ? { stack: stack.slice(0, longestStack) } : {};
    return { hook: name, durationMs, status, error: String(error), ...trace };
  }
  if (status !== "ok") return null;
  try {
    return { hook: name, durationMs, status, value: checkResult(event, value) };
  } catch (problem) {
    return { hook: name, durationMs, status: "exception", error: errorText(problem) };
  }
}

function sessionOf(context: unknown): SessionId | null {
  const { session } = context as { session?: { id?: SessionId } | null };
  return session?.id ?? null;
}
