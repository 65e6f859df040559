/** Errors that cross the wire: a code with its HTTP status, a message for people, and a hint. */

export const errorStatus = {
  invalid: 400,
  unauthorized: 401,
  forbidden: 403,
  not_found: 404,
  method_not_allowed: 405,
  timeout: 408,
  conflict: 409,
  closed: 410,
  too_large: 413,
  unsupported_media_type: 415,
  too_many: 429,
  internal: 500,
  /** A third-party server that the request needs failed. */
  upstream: 502,
  unavailable: 503,
  storage_full: 507,
} as const;

export type ErrorCode = keyof typeof errorStatus;

export type ErrorBody = {
  error: { code: ErrorCode; message: string; hint?: string; details?: unknown };
};

/**
 * The error type for everything that crosses the wire. `code` says what kind of problem it is, `message` describes it, and
 * `hint` says what to do about it.
 *
 * @example
 * ```ts
 * import { AegisError } from "aegis/client";
 *
 * throw new AegisError("not_found", "no session 'lucid-knut'", { hint: "did you mean lucid-knuth?" });
 * ```
 */
export class AegisError extends Error {
  override readonly name = "AegisError";
  readonly code: ErrorCode;
  /** What the reader can do about it. */
  readonly hint: string | undefined;
  readonly details: unknown;

  constructor(code: ErrorCode, message: string, more: { hint?: string; details?: unknown; cause?: unknown } = {}) {
    super(message, more.cause === undefined ? undefined : { cause: more.cause });
    this.code = code;
    this.hint = more.hint;
    this.details = more.details;
  }

  get status(): number {
    return errorStatus[this.code];
  }

  toBody(): ErrorBody {
    return {
      error: {
        code: this.code,
        message: this.message,
        ...(this.hint === undefined ? {} : { hint: this.hint }),
        ...(this.details === undefined ? {} : { details: this.details }),
      },
    };
  }

  static fromBody(body: ErrorBody): AegisError {
    const { code, message, hint, details } = body.error;
    return new AegisError(code in errorStatus ? code : "internal", message, {
      ...(hint === undefined ? {} : { hint }),
      details,
    });
  }
}

/**
 * Tells whether a caught value is an `AegisError`, and narrows its type.
 *
 * @example
 * ```ts
 * import { connect, isAegisError } from "aegis/client";
 *
 * try {
 *   await connect();
 * } catch (error) {
 *   if (isAegisError(error) && error.code === "unavailable") process.stderr.write("No daemon runs here.\n");
 *   else throw error;
 * }
 * ```
 */
export function isAegisError(error: unknown): error is AegisError {
  return error instanceof AegisError;
}
