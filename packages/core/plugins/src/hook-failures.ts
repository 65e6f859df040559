/** Counts failed hook calls since the daemon started, with the last failure of each hook. */
import type { HookEvent } from "@aegis/contract/hook.ts";
import type { HookFailure } from "@aegis/contract/plugin.ts";
import type { Redact } from "@aegis/lib/redact.ts";

/** A call that threw or timed out. */
export type FailedCall = {
  ts: number;
  event: HookEvent;
  plugin: string;
  hook: string;
  status: string;
  error?: string;
  stack?: string;
};

export class HookFailures {
  readonly #byPlugin = new Map<string, Map<string, HookFailure>>();
  readonly #redact: Redact;

  constructor(redact: Redact) {
    this.#redact = redact;
  }

  /** Returns the number of failures of this hook. */
  add({ ts, event, plugin, hook, status, error = "", stack = "" }: FailedCall): number {
    const hooks = this.#byPlugin.get(plugin) ?? new Map<string, HookFailure>();
    this.#byPlugin.set(plugin, hooks);
    const key = `${event} ${hook}`;
    const count = (hooks.get(key)?.count ?? 0) + 1;
    const kind = status === "timeout" ? ("timeout" as const) : ("exception" as const);
    const trace = stack === "" ? null : this.#redact(stack);
    hooks.set(key, { event, hook, count, last_at: ts, kind, error: this.#redact(error), stack: trace });
    return count;
  }

  /** One entry per failed hook of the plugin, the most frequent first. */
  of(plugin: string): HookFailure[] {
    const failures = [...(this.#byPlugin.get(plugin)?.values() ?? [])];
    return failures.sort((a, b) => b.count - a.count);
  }
}

/** The text for the plugin's log. */
export function failureText({ event, hook, status, error = "", stack }: FailedCall, count: number): string {
  const times = count === 1 ? "" : ` (failure ${count} since the daemon started)`;
  const what = `the hook ${event} (${hook}) ${status === "timeout" ? "timed out" : "failed"}${times}`;
  return `${what}: ${stack ?? error}`;
}
