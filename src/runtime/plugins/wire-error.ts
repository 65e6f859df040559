/** Errors on their way between a plugin's worker and the daemon: the other side meets the same class, message and stack. */
import { AegisError, type ErrorCode, errorStatus, isAegisError } from "../../contract/errors.ts";
import { expectedFailure } from "../../contract/workflow-names.ts";
import type { WireError } from "./protocol.ts";

/** Never throws, whatever was thrown. */
export function toWire(thrown: unknown): WireError {
  const error = thrown instanceof Error ? thrown : null;
  const expected = error !== null && expectedFailure in error;
  return {
    name: textOf(() => error?.name, "Error"),
    message: textOf(() => (error === null ? String(thrown) : error.message), "something that cannot be shown"),
    stack: textOf(() => error?.stack, "") || null,
    expected,
    details: expected && "details" in error ? plain(error.details) : null,
    code: isAegisError(error) ? error.code : null,
    hint: isAegisError(error) ? (error.hint ?? null) : null,
  };
}

export function fromWire({ name, message, stack, expected, details, code, hint }: WireError): Error {
  if (code !== null && code in errorStatus)
    return new AegisError(code as ErrorCode, message, hint === null ? {} : { hint });
  const error = new Error(message);
  Object.defineProperty(error, "name", { value: name, configurable: true });
  if (stack !== null) Object.defineProperty(error, "stack", { value: stack, configurable: true });
  if (expected) Object.assign(error, { [expectedFailure]: true, details });
  return error;
}

/** The value as JSON has it, or null when it is none. */
export function plain(value: unknown): unknown {
  try {
    return JSON.parse(JSON.stringify(value ?? null) ?? "null") as unknown;
  } catch {
    return null;
  }
}

/** A getter of a thrown object may throw as well. */
function textOf(read: () => unknown, fallback: string): string {
  try {
    const value = read();
    return typeof value === "string" ? value : fallback;
  } catch {
    return fallback;
  }
}
