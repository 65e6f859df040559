/** Performs a step and records its outcome. */
import type { Json } from "../../contract/run.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/log.ts";
import { toJson } from "../../lib/strict-json.ts";
import type { StepRow, StoreTx } from "../../store/store.ts";
import { whileAway } from "../../store/transact.ts";
import type { StepSpec } from "../engine.ts";
import type { Ask } from "./ask.ts";
import { checkpointMethod } from "./recording.ts";
import { LostRun, type Outcome, type Records } from "./records.ts";

const mostResultCharacters = 32 * 1024 * 1024;

/** `before` is the record of its start. Returns null if the step was stopped; nothing is written then. */
export async function performStep(
  ask: Ask,
  key: string,
  before: StepRow | null,
  { records, clock, log }: { records: Records; clock: Clock; log: Logger },
): Promise<StepRow | null> {
  const { work, scope, spec } = ask;
  const { begin, end } = work;
  if (scope.over) return null;
  const started = before?.started_at ?? clock.now();
  let begun = before !== null;
  let value = JSON.parse(before?.begun ?? "null") as Json;
  let outcome: Outcome;
  let result: unknown;
  try {
    if (begin && !begun) {
      const unlessCut = async (tx: StoreTx) => {
        // Checked again here, because the branch may have been stopped while the transaction was queued.
        scope.signal.throwIfAborted();
        return begin(tx, key);
      };
      value = (await records.begin(ask, unlessCut)).value;
      begun = true;
      if (scope.over) return null;
    }
    const perform = () => work.perform({ key, begun: value, again: before !== null, signal: scope.signal });
    const details = { run: ask.name.run, step: spec.label };
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
  return records.end(ask, { started, begun, outcome }, extra);
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
