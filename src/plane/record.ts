/** Writes down each call of a tool: who, what, how it went. The call does not wait for it. */
import type { Clock } from "../lib/clock.ts";
import { errorText, type Logger } from "../lib/log.ts";
import type { ToolCall } from "../runtime/registry/tools.ts";
import type { Store } from "../store/store.ts";

const longestText = 2_000;

export function recordToolCall(
  call: ToolCall,
  { store, clock, log }: { store: Store; clock: Clock; log: Logger },
): void {
  const { caller, tool, input, outcome, durationMs } = call;
  const data = {
    tool,
    outcome: outcome.is_error ? ("error" as const) : ("ok" as const),
    duration_ms: durationMs,
    input: cut(JSON.stringify(input ?? {})),
    error: outcome.is_error ? cut(outcome.output) : null,
  };
  store
    .transact((tx) => tx.events.append({ type: "tool.called", session: caller.id, data }, clock.now()))
    .catch((error: unknown) => log.warn("a tool call could not be recorded", { tool, error: errorText(error) }));
}

function cut(text: string): string {
  return text.length <= longestText ? text : `${text.slice(0, longestText)}… (${text.length} characters)`;
}
