/** One step of a run: what the body requests, how it is performed and recorded, and the answer. */
import type { Json } from "@aegis/contract/run.ts";
import type { Clock } from "@aegis/lib/clock.ts";
import type { Logger } from "@aegis/lib/log.ts";
import { checkJson, isPlain, toJson } from "@aegis/lib/strict-json.ts";
import { textDigest } from "@aegis/lib/text-digest.ts";
import type { StepName, StepRow, StoreTx } from "@aegis/store/store.ts";
import { whileAway } from "@aegis/store/transact.ts";
import type { StepSpec, StepWork } from "../engine.ts";
import type { Branch } from "./branch.ts";
import { reviveError } from "./failures.ts";
import { checkpointMethod } from "./recording.ts";
import { LostRun, type Records, type StepOutcome } from "./records.ts";

const mostResultCharacters = 32 * 1024 * 1024;

export type StepRequest = {
  name: StepName;
  spec: StepSpec;
  work: StepWork<unknown>;
  scope: Branch;
  /** Called when the result is delivered, before the body sees it. */
  onGiven: (() => void) | undefined;
  resolve: (value: unknown) => void;
  reject: (error: unknown) => void;
};

/** Identifies a step: equal methods and arguments give equal keys. Throws `TypeError` if the arguments are not JSON. */
export function stepKey({ method, args }: StepSpec): string {
  return `${method}:${textDigest(canonical(args, `an argument of ${method}`)).slice(0, 32)}`;
}

/** `before` is the record of its start. Returns null if the step was stopped; nothing is written then. */
export async function performStep(
  request: StepRequest,
  key: string,
  before: StepRow | null,
  { records, clock, log }: { records: Records; clock: Clock; log: Logger },
): Promise<StepRow | null> {
  const { work, scope, spec } = request;
  const { begin, end } = work;
  if (scope.over) return null;
  const started = before?.started_at ?? clock.now();
  let begun = before !== null;
  let value = JSON.parse(before?.begun ?? "null") as Json;
  let outcome: StepOutcome;
  let result: unknown;
  try {
    if (begin && !begun) {
      const unlessCut = async (tx: StoreTx) => {
        // Checked again here, because the branch may have been stopped while the transaction was queued.
        scope.signal.throwIfAborted();
        return begin(tx, key);
      };
      value = (await records.begin(request, unlessCut)).value;
      begun = true;
      if (scope.over) return null;
    }
    const perform = () => work.perform({ key, begun: value, again: before !== null, signal: scope.signal });
    const details = { run: request.name.run, step: spec.label };
    result = await whileAway(perform, { clock, log, signal: scope.signal, what: "a step", details });
    outcome = { result: resultText(result, spec) };
  } catch (error) {
    if (error instanceof LostRun) throw error;
    outcome = { error };
  }
  if (scope.over) return null;
  const isGood = !("error" in outcome);
  const extra = async (tx: StoreTx) => {
    if (isGood) await end?.(tx, result, key);
    // A checkpoint has its own event.
    return isGood && spec.method === checkpointMethod ? ("told" as const) : undefined;
  };
  return records.end(request, { started, begun, outcome }, extra);
}

/** Delivers the recorded result. A branch that was stopped meanwhile never receives it. */
export function answer(request: StepRequest, row: StepRow): void {
  if (request.scope.over) return;
  if (row.status === "error") {
    request.reject(reviveError(row.failure ?? "{}"));
    return;
  }
  request.onGiven?.();
  request.resolve(row.result === null ? undefined : JSON.parse(row.result));
}

/** Describes a step and its place for people. */
export function describeStep(name: Omit<StepName, "run">, label: string): string {
  const branch = name.scope === "" ? "" : ` in branch ${name.scope}`;
  const again = name.occurrence === 0 ? "" : ` (number ${name.occurrence + 1} of these)`;
  return `"${label}"${again}${branch}${name.epoch === 0 ? "" : ` after checkpoint ${name.epoch}`}`;
}

function resultText(value: unknown, { label }: StepSpec): string | undefined {
  const text = toJson(value, `the result of "${label}"`);
  if (text !== undefined && text.length > mostResultCharacters) {
    throw new TypeError(
      `the result of "${label}" is ${text.length} characters long; the limit is ${mostResultCharacters}`,
    );
  }
  return text;
}

/** Returns the same text for the same value, independent of key order. Part of stored keys, so it must not change. */
function canonical(value: unknown, what: string): string {
  if (value === undefined) return "null";
  checkJson(value, what);
  return JSON.stringify(value, (_key, item: unknown) => (isPlain(item) ? sorted(item) : item));
}

function sorted(value: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
}
