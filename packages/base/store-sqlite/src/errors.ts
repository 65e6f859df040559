/** Converts SQLite errors to contract errors. */
import { statfsSync } from "node:fs";
import { dirname } from "node:path";
import { AegisError } from "@aegis/contract/errors.ts";
import { isErrno } from "@aegis/lib/files.ts";
import { errorText } from "@aegis/lib/log.ts";
import { ConstraintError } from "@aegis/store/sql/sql.ts";

/** The file cannot be read as a database. */
export class DamageError extends AegisError {}

/** Converts an error of `node:sqlite` or the file system. Returns any other error unchanged. */
export function storeError(error: unknown, path: string): unknown {
  if (isErrno(error, "ENOSPC", "EDQUOT")) return storageFull(path, error);
  if (isErrno(error, "EROFS", "EACCES", "EPERM")) return notWritable(path, error);
  if (!isSqliteError(error)) return error;
  const code = error.errcode & 0xff;
  switch (code) {
    case sqlite.constraint:
      return new ConstraintError(constraintKind(error.errcode), error);
    case sqlite.full:
      return storageFull(path, error);
    case sqlite.readOnly:
    case sqlite.permission:
    case sqlite.cannotOpen:
    case sqlite.inputOutput:
      // SQLite reports a full disk only when it writes a page. Its shared-memory file fails with one of these codes.
      return code !== sqlite.readOnly && isDiskFull(path) ? storageFull(path, error) : notWritable(path, error);
    case sqlite.busy:
    case sqlite.locked:
      return new AegisError("unavailable", `${path} is locked by another process`, {
        hint: "close the program that has the database open",
        cause: error,
      });
    case sqlite.corrupt:
    case sqlite.notADatabase:
      return new DamageError("unavailable", `${path} is damaged: ${error.message}`, {
        hint: "restart Aegis: it sets a damaged database aside and creates a new one",
        cause: error,
      });
    case sqlite.tooBig:
      return new AegisError("too_large", `a value is larger than ${path} can hold`, { cause: error });
    default:
      return new AegisError("internal", `${path}: ${error.message}`, { cause: error });
  }
}

type SqliteError = Error & { errcode: number };

/** Primary result codes. */
const sqlite = {
  permission: 3,
  busy: 5,
  locked: 6,
  readOnly: 8,
  inputOutput: 10,
  corrupt: 11,
  full: 13,
  cannotOpen: 14,
  tooBig: 18,
  constraint: 19,
  notADatabase: 26,
} as const;

const constraint = { foreignKey: 787, primaryKey: 1555, unique: 2067 } as const;

/** With less free space, SQLite cannot create its side files. */
const leastFreeBytes = 64 * 1024;

function isSqliteError(error: unknown): error is SqliteError {
  return error instanceof Error && "errcode" in error && typeof error.errcode === "number";
}

function constraintKind(errcode: number): ConstraintError["kind"] {
  if (errcode === constraint.unique || errcode === constraint.primaryKey) return "unique";
  return errcode === constraint.foreignKey ? "reference" : "other";
}

function storageFull(path: string, cause: unknown): AegisError {
  return new AegisError("storage_full", `the disk that holds ${path} is full: nothing was stored`, {
    hint: "free some space and try again; everything accepted before is intact",
    cause,
  });
}

function notWritable(path: string, cause: unknown): AegisError {
  return new AegisError("unavailable", `cannot write ${path}: ${errorText(cause)}`, {
    hint: `make ${dirname(path)} writable for the user that runs Aegis`,
    cause,
  });
}

function isDiskFull(path: string): boolean {
  try {
    const disk = statfsSync(dirname(path));
    return disk.bavail * disk.bsize < leastFreeBytes;
  } catch {
    return false;
  }
}
