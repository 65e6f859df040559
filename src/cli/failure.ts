/** How a command fails: what went wrong, what to do about it, and the exit code that says which kind it was. */
import { AegisError, type ErrorBody, isAegisError } from "../contract/errors.ts";
import { isErrno } from "../lib/files.ts";
import { exitCodes } from "./context.ts";

export class CliError extends Error {
  override readonly name = "CliError";
  readonly exitCode: number;
  readonly hint: string | undefined;

  constructor(exitCode: number, message: string, more: { hint?: string; cause?: unknown } = {}) {
    super(message, more.cause === undefined ? undefined : { cause: more.cause });
    this.exitCode = exitCode;
    this.hint = more.hint;
  }
}

export function usageError(message: string, hint?: string): CliError {
  return new CliError(exitCodes.usage, message, hint === undefined ? {} : { hint });
}

export function exitCodeOf(error: unknown): number {
  if (error instanceof CliError) return error.exitCode;
  if (!isAegisError(error)) return exitCodes.failed;
  if (error.code === "unavailable" || error.code === "unauthorized") return exitCodes.noDaemon;
  return error.code === "invalid" ? exitCodes.usage : exitCodes.failed;
}

/** What the system says when it does not let us at a file. */
const refusals: Readonly<Record<string, string>> = {
  EACCES: "permission denied",
  EPERM: "not permitted",
  EROFS: "the file system is read-only",
  ENOSPC: "the disk is full",
  ENOTDIR: "a part of it is not a folder",
};

/** The error as lines for people. */
export function describeError(error: unknown): { message: string; hint: string | undefined } {
  if (error instanceof CliError || isAegisError(error)) return { message: error.message, hint: error.hint };
  if (isErrno(error, ...Object.keys(refusals)) && error.path !== undefined) {
    return {
      message: `cannot use ${error.path}: ${refusals[error.code ?? ""]}`,
      hint: "aegis doctor looks at the folders",
    };
  }
  return { message: error instanceof Error ? error.message : String(error), hint: undefined };
}

/** The error as the daemon would have sent it, so that scripts read one shape. */
export function errorBody(error: unknown): ErrorBody {
  if (isAegisError(error)) return error.toBody();
  const { message, hint } = describeError(error);
  const code = exitCodeOf(error);
  const kind = code === exitCodes.usage ? "invalid" : code === exitCodes.noDaemon ? "unavailable" : "internal";
  return new AegisError(kind, message, hint === undefined ? {} : { hint }).toBody();
}
