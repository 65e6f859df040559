/** Errors that cross the wire: a code with its HTTP status, a sentence for people, and what to do next. */

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
  /** Somebody else's server, which a request needed, did not do its part. */
  upstream: 502,
  unavailable: 503,
  storage_full: 507,
} as const;

export type ErrorCode = keyof typeof errorStatus;

export type ErrorBody = {
  error: { code: ErrorCode; message: string; hint?: string; details?: unknown };
};

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

export function isAegisError(error: unknown): error is AegisError {
  return error instanceof AegisError;
}
