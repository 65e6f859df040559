/** A step that a body asked for, from the question to the answer. */
import type { StepName, StepRow } from "../../store/store.ts";
import type { StepSpec, StepWork } from "../engine.ts";
import { reviveError } from "./failures.ts";
import type { Scope } from "./scope.ts";

export type Ask = {
  name: StepName;
  spec: StepSpec;
  work: StepWork<unknown>;
  scope: Scope;
  /** When the result is handed over, before the body sees it. */
  onGiven: (() => void) | undefined;
  resolve: (value: unknown) => void;
  reject: (error: unknown) => void;
};

/** Hands over what is on record. A branch that was cut meanwhile never hears of it. */
export function answer(ask: Ask, row: StepRow): void {
  if (ask.scope.over) return;
  if (row.status === "error") {
    ask.reject(reviveError(row.failure ?? "{}"));
    return;
  }
  ask.onGiven?.();
  ask.resolve(row.result === null ? undefined : JSON.parse(row.result));
}

/** For people: which step, and where. */
export function describeStep(name: Omit<StepName, "run">, label: string): string {
  const branch = name.scope === "" ? "" : ` in branch ${name.scope}`;
  const again = name.occurrence === 0 ? "" : ` (number ${name.occurrence + 1} of these)`;
  return `"${label}"${again}${branch}${name.epoch === 0 ? "" : ` after checkpoint ${name.epoch}`}`;
}
