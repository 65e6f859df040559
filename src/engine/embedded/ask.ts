/** A step that a body requested, from the request to the answer. */
import type { StepName, StepRow } from "../../store/store.ts";
import type { StepSpec, StepWork } from "../engine.ts";
import type { Branch } from "./branch.ts";
import { reviveError } from "./failures.ts";

export type Ask = {
  name: StepName;
  spec: StepSpec;
  work: StepWork<unknown>;
  scope: Branch;
  /** Called when the result is delivered, before the body sees it. */
  onGiven: (() => void) | undefined;
  resolve: (value: unknown) => void;
  reject: (error: unknown) => void;
};

/** Delivers the recorded result. A branch that was stopped meanwhile never receives it. */
export function answer(ask: Ask, row: StepRow): void {
  if (ask.scope.over) return;
  if (row.status === "error") {
    ask.reject(reviveError(row.failure ?? "{}"));
    return;
  }
  ask.onGiven?.();
  ask.resolve(row.result === null ? undefined : JSON.parse(row.result));
}

/** Describes a step and its place for people. */
export function describeStep(name: Omit<StepName, "run">, label: string): string {
  const branch = name.scope === "" ? "" : ` in branch ${name.scope}`;
  const again = name.occurrence === 0 ? "" : ` (number ${name.occurrence + 1} of these)`;
  return `"${label}"${again}${branch}${name.epoch === 0 ? "" : ` after checkpoint ${name.epoch}`}`;
}
