/**
 * Calls hooks and makes one outcome of what they give back. Hooks of one plugin that follow each other go in one round
 * trip. A plugin's word is checked again here, and its time is kept here too: its worker may be gone, stuck or lying.
 */
import {
  type HookCallResult,
  type HookContexts,
  type HookDeclaration,
  type HookEvent,
  type HookObserver,
  type HookResults,
  hookKinds,
} from "../../contract/hook.ts";
import type { Clock } from "../../lib/clock.ts";
import { errorText, type Logger } from "../../lib/log.ts";
import { stopsWhenFailing } from "../registry/hook-batch.ts";
import { applyResult, type ComposedEvent, ends, type HookOutcomes, outcomeOf } from "../registry/hook-compose.ts";
import { checkResult } from "../registry/hook-results.ts";
import type { HookRegistry, HookRunner, PlacedHook } from "../registry/hooks.ts";
import { Lanes } from "./lanes.ts";
import type { HookRecord } from "./record.ts";

export type HookBusOptions = {
  registry: HookRegistry;
  clock: Clock;
  log: Logger;
  /** How long a hook may take that does not say so itself. */
  timeoutMs: () => number;
  /** Told of each call. Must not throw. */
  record: (call: HookRecord) => void;
};

type Group = { plugin: string; run: HookRunner; hooks: readonly HookDeclaration[] };
type Called = { hook: HookDeclaration; result: HookCallResult };

/** What a worker may be late by before the daemon stops waiting for its own clock. */
const marginMs = 1_000;
/** Calls of observers that may wait, per plugin. */
const mostWaiting = 1_000;

export class HookBus {
  readonly #options: HookBusOptions;
  readonly #lanes: Lanes;
  readonly #stop = new AbortController();

  constructor(options: HookBusOptions) {
    this.#options = options;
    this.#lanes = new Lanes(mostWaiting, (plugin, left) =>
      options.log.warn("a plugin's hooks cannot keep up; calls of its observers were left out", { plugin, left }),
    );
  }

  /** Ask before building a context: most events have no hook. */
  has(event: HookEvent): boolean {
    return this.#options.registry.has(event);
  }

  /** Never rejects. Aborting ends it at once: a gate then denies, anything else keeps what it has so far. */
  async run<E extends ComposedEvent>(
    event: E,
    context: HookContexts[E],
    signal: AbortSignal,
  ): Promise<HookOutcomes[E]> {
    const results: HookResults[E][] = [];
    let current = context;
    for (const group of groupsOf(this.#options.registry.of(event))) {
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
      results.push({ decision: "deny", reason: "the call was given up before every gate had judged it" } as never);
    return outcomeOf(event, results);
  }

  /**
   * Has observers called some time after now, those of one lane in order. One plugin does not wait for another, and
   * nobody waits for any of them.
   */
  observe<E extends HookObserver>(event: E, context: HookContexts[E], lane: string): void {
    const plugins = new Set(this.#options.registry.of(event).map(({ plugin }) => plugin));
    for (const plugin of plugins) this.observeIn(plugin, event, context, lane);
  }

  /** The same for one plugin. */
  observeIn<E extends HookObserver>(plugin: string, event: E, context: HookContexts[E], lane: string): void {
    // Looked up when its time has come: the plugin may have been loaded anew until then.
    this.#lanes.add(plugin, lane, async () => {
      for (const group of groupsOf(this.#options.registry.of(event)))
        if (group.plugin === plugin) await this.#call(group, event, context, this.#stop.signal);
    });
  }

  /** Resolves when no observer waits, or the deadline has come. */
  async idle(deadline: AbortSignal): Promise<void> {
    await this.#lanes.empty(deadline);
  }

  /** The same for good: those left at the deadline are given up. */
  async drain(deadline: AbortSignal): Promise<void> {
    const giveUp = () => this.#stop.abort("the daemon stops");
    if (deadline.aborted) giveUp();
    deadline.addEventListener("abort", giveUp, { once: true });
    const left = await this.#lanes.empty(deadline);
    deadline.removeEventListener("abort", giveUp);
    if (left > 0) this.#options.log.warn("calls of observers were left out at the end", { left });
  }

  /** One answer for each hook that was or should have been called. */
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
    const stop = () => over.abort(signal.reason);
    if (signal.aborted) stop();
    signal.addEventListener("abort", stop, { once: true });
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
      signal.removeEventListener("abort", stop);
      over.abort("over");
    }
    const called = answersOf(event, hooks, answer, clock.now() - started);
    for (const one of called) this.#record(event, plugin, one, context);
    return called;
  }

  /** What counts as the hook's result, also when it failed. */
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
      ...(session === null ? {} : { session }),
    });
  }
}

type Failed = { status: "timeout" | "exception"; error: string };
type Answer = { results: unknown } | Failed;

function failed(status: Failed["status"], error: string): Failed {
  return { status, error };
}

/** Hooks of one plugin that nobody else's stands between. */
function groupsOf(placed: readonly PlacedHook[]): Group[] {
  const groups: (Group & { hooks: HookDeclaration[] })[] = [];
  for (const { plugin, run, declaration } of placed) {
    const last = groups.at(-1);
    if (last !== undefined && last.run === run && last.plugin === plugin) last.hooks.push(declaration);
    else groups.push({ plugin, run, hooks: [declaration] });
  }
  return groups;
}

/** The answer hook by hook, up to the one after which nobody else was to be called. */
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

/** Null for something that is no answer of this hook. */
function checkCall(event: HookEvent, hook: HookDeclaration, given: unknown): HookCallResult | null {
  if (typeof given !== "object" || given === null) return null;
  const { hook: name, status, durationMs, value, error } = given as Record<string, unknown>;
  if (name !== hook.name || typeof durationMs !== "number") return null;
  if (status === "exception" || status === "timeout") return { hook: name, durationMs, status, error: String(error) };
  if (status !== "ok") return null;
  try {
    return { hook: name, durationMs, status, value: checkResult(event, value) };
  } catch (problem) {
    return { hook: name, durationMs, status: "exception", error: errorText(problem) };
  }
}

function sessionOf(context: unknown): string | null {
  const { session } = context as { session?: { id?: string } | null };
  return session?.id ?? null;
}
