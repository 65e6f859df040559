/** Runs the hooks of a batch one after another, in a plugin's worker or in a test. */
import { type HookCallResult, type HookContexts, type HookEvent, hookKinds } from "@aegis/contract/hook.ts";
import { applyResult, ends } from "./hook-compose.ts";
import { checkResult } from "./hook-results.ts";
import type { HookBatch } from "./hook-table.ts";

/** Calls one hook with a context that it must not change. The signal aborts at the timeout. */
export type CallHook = (name: string, context: unknown, signal: AbortSignal) => unknown;

/** Never rejects: the answer describes how each call ended. Stops early if the signal aborts. */
export async function runBatch(batch: HookBatch, call: CallHook, signal: AbortSignal): Promise<HookCallResult[]> {
  const { event } = batch;
  const done: HookCallResult[] = [];
  let context = batch.context as HookContexts[HookEvent];
  for (const { name, timeoutMs, strict } of batch.hooks) {
    if (signal.aborted) break;
    const started = performance.now();
    const ended = await callOnce(event, (abort) => call(name, freeze(context), abort), timeoutMs, signal);
    done.push({ hook: name, durationMs: performance.now() - started, ...ended });
    if (ended.status !== "ok") {
      if (stopsWhenFailing(event, strict)) break;
      continue;
    }
    context = applyResult(event, context, ended.value);
    if (ends(event, ended.value)) break;
  }
  return done;
}

/** Whether a failing hook ends the round. */
export function stopsWhenFailing(event: HookEvent, strict: boolean): boolean {
  return hookKinds[event] === "gate" || (strict && (event === "pre_turn" || event === "pre_spawn"));
}

type Ended =
  | { status: "ok"; value: ReturnType<typeof checkResult> }
  | { status: "exception"; error: string; stack?: string }
  | { status: "timeout"; error: string };

async function callOnce(
  event: HookEvent,
  call: (signal: AbortSignal) => unknown,
  timeoutMs: number,
  outer: AbortSignal,
): Promise<Ended> {
  const own = new AbortController();
  const stop = () => own.abort(outer.reason);
  outer.addEventListener("abort", stop, { once: true });
  let timer: NodeJS.Timeout | undefined;
  try {
    const late = new Promise<Ended>((resolve) => {
      const error = `gave no answer within ${timeoutMs} ms`;
      timer = setTimeout(() => resolve({ status: "timeout", error }), timeoutMs);
      own.signal.addEventListener("abort", () => resolve({ status: "exception", error: "was given up" }), {
        once: true,
      });
    });
    const answered = (async (): Promise<Ended> => {
      return { status: "ok", value: checkResult(event, await call(own.signal)) };
    })().catch((error: unknown): Ended => ({ status: "exception", error: describe(error), ...stackOf(error) }));
    return await Promise.race([answered, late]);
  } finally {
    clearTimeout(timer);
    outer.removeEventListener("abort", stop);
    own.abort("over");
  }
}

/** Describes a thrown value of any kind in one line. */
function describe(error: unknown): string {
  try {
    return error instanceof Error ? error.message || error.name : String(error);
  } catch {
    return "threw something that cannot be shown";
  }
}

function stackOf(error: unknown): { stack?: string } {
  try {
    return error instanceof Error && typeof error.stack === "string" ? { stack: error.stack } : {};
  } catch {
    return {};
  }
}

/** Prevents a hook from changing the context that later hooks see. */
function freeze<T>(value: T): T {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  Object.freeze(value);
  for (const one of Object.values(value)) freeze(one);
  return value;
}
