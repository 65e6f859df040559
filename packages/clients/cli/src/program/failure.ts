/** The failure of a command: the problem, how to fix it, and the exit code of its kind. */
import { AegisError, type ErrorBody, isAegisError } from "@aegis/contract/errors.ts";
import { isErrno } from "@aegis/lib/files.ts";
import { exitCodes } from "../terminal/context.ts";

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

/** System errors for a file that cannot be accessed. */
const refusals: Readonly<Record<string, string>> = {
  EACCES: "permission denied",
  EPERM: "not permitted",
  EROFS: "the file system is read-only",
  ENOSPC: "the disk is full",
  ENOTDIR: "a part of it is not a folder",
};

/** The error as lines of text. */
export function describeError(error: unknown): { message: string; hint: string | undefined } {
  if (error instanceof CliError || isAegisError(error)) return { message: error.message, hint: error.hint };
  if (isErrno(error, ...Object.keys(refusals)) && error.path !== undefined) {
    return {
      message: `cannot use ${error.path}: ${refusals[error.code ?? ""]}`,
      hint: "aegis doctor checks the folders",
    };
  }
  return { message: error instanceof Error ? error.message : String(error), hint: undefined };
}

/** The error in the daemon's format, so that scripts parse one shape. */
export function errorBody(error: unknown): ErrorBody {
  if (isAegisError(error)) return error.toBody();
  const { message, hint } = describeError(error);
  const code = exitCodeOf(error);
  const kind = code === exitCodes.usage ? "invalid" : code === exitCodes.noDaemon ? "unavailable" : "internal";
  return new AegisError(kind, message, hint === undefined ? {} : { hint }).toBody();
}
