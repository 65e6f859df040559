/** Serializes errors. A body receives the same error whether its step failed now or before a restart. */
import { AegisError, type ErrorCode, isAegisError } from "@aegis/contract/errors.ts";
import type { RunError } from "@aegis/contract/run.ts";
import { expectedFailure } from "@aegis/contract/workflow-names.ts";
import { errorText } from "@aegis/lib/log.ts";

type Recorded = {
  name: string;
  message: string;
  expected: boolean;
  code: ErrorCode | null;
  hint: string | null;
  stack: string | null;
  /** The details of an expected failure, if they are JSON. */
  details: unknown;
};

export function recordError(error: unknown): string {
  const recorded: Recorded = {
    name: error instanceof Error ? error.name : "Error",
    message: errorText(error),
    expected: isExpected(error),
    code: isAegisError(error) ? error.code : null,
    hint: isAegisError(error) ? (error.hint ?? null) : null,
    stack: error instanceof Error ? (error.stack ?? null) : null,
    details: detailsOf(error),
  };
  return JSON.stringify(recorded);
}

export function reviveError(text: string): Error {
  const { name, message, expected, code, hint, stack, details } = JSON.parse(text) as Recorded;
  if (code !== null) return new AegisError(code, message, hint === null ? {} : { hint });
  const error = new Error(message);
  Object.defineProperty(error, "name", { value: name, configurable: true });
  if (stack !== null) Object.defineProperty(error, "stack", { value: stack, configurable: true });
  if (expected) Object.assign(error, { [expectedFailure]: true, details });
  return error;
}

export function runErrorOf(error: unknown): RunError {
  const name = error instanceof Error ? error.name : "Error";
  return { kind: isExpected(error) ? "expected" : "crash", name, message: errorText(error) };
}

export function isExpected(error: unknown): boolean {
  return error instanceof Error && expectedFailure in error;
}

function detailsOf(error: unknown): unknown {
  if (!isExpected(error) || !(error instanceof Error) || !("details" in error)) return null;
  try {
    return JSON.parse(JSON.stringify(error.details ?? null)) as unknown;
  } catch {
    return null;
  }
}
