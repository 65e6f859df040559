/** Serializes errors between a plugin's worker and the daemon and preserves class, message and stack. */
import { AegisError, type ErrorCode, errorStatus, isAegisError } from "@aegis/contract/errors.ts";
import { expectedFailure } from "@aegis/contract/workflow-names.ts";
import { cutText } from "@aegis/lib/cut-text.ts";
import type { WireError } from "./protocol.ts";

/** The limit of a message or a stack, in characters. */
const longestText = 64 * 1024;
/** The classes that a workflow may distinguish with `instanceof`. */
const builtIn: Readonly<Record<string, new (message: string) => Error>> = {
  TypeError,
  RangeError,
  SyntaxError,
  ReferenceError,
  URIError,
  EvalError,
};
/** A `DOMException` is identified by its name, such as `AbortError`. */
const domException = "DOMException";

/** Never throws, for any thrown value. */
export function toWire(thrown: unknown): WireError {
  const error = thrown instanceof Error ? thrown : null;
  const expected = error !== null && expectedFailure in error;
  return {
    name: textOf(() => error?.name, "Error"),
    base: error === null ? null : baseOf(error),
    message: textOf(() => (error === null ? String(thrown) : error.message), "something that cannot be shown"),
    stack: textOf(() => error?.stack, "") || null,
    expected,
    details: expected && "details" in error ? plain(error.details) : null,
    code: isAegisError(error) ? error.code : null,
    hint: isAegisError(error) ? (error.hint ?? null) : null,
  };
}

export function fromWire({ name, base, message, stack, expected, details, code, hint }: WireError): Error {
  if (code !== null && code in errorStatus)
    return new AegisError(code as ErrorCode, message, hint === null ? {} : { hint });
  const error = createError(base ?? null, name, message);
  Object.defineProperty(error, "name", { value: name, configurable: true });
  if (stack !== null) Object.defineProperty(error, "stack", { value: stack, configurable: true });
  if (expected) Object.assign(error, { [expectedFailure]: true, details });
  return error;
}

function baseOf(error: Error): string | null {
  if (error instanceof DOMException) return domException;
  return Object.keys(builtIn).find((name) => error instanceof (builtIn[name] ?? TypeError)) ?? null;
}

/** The other side may name any class; only listed classes are created. */
function createError(base: string | null, name: string, message: string): Error {
  if (base === domException) return new DOMException(message, name);
  const known = base !== null && Object.hasOwn(builtIn, base) ? builtIn[base] : undefined;
  return known === undefined ? new Error(message) : new known(message);
}

/** The value as JSON, or null if it is not JSON. */
function plain(value: unknown): unknown {
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
    return typeof value === "string" ? cutText(value, longestText) : fallback;
  } catch {
    return fallback;
  }
}
