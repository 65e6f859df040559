/** Converts PostgreSQL errors to contract errors. */
import { AegisError } from "@aegis/contract/errors.ts";
import { errorText } from "@aegis/lib/log.ts";
import { ConstraintError } from "@aegis/store/sql/sql.ts";
import { StoreAwayError } from "@aegis/store/transact.ts";

/** Converts an error of the driver. Returns an error that is ours unchanged. `where` names the server for people. */
export function postgresError(error: unknown, where: string): unknown {
  if (error instanceof AegisError || error instanceof ConstraintError) return error;
  const code = codeOf(error);
  if (isUnreadableFile(error)) return unreadableFile(error, where);
  const refusal = refusalOf(error);
  if (refusal !== null) return refused(error, where, refusal);
  if (code === null) return isConnectionLoss(error) ? unreachable(error, where) : internal(error, where);
  if (code.startsWith("23")) return new ConstraintError(constraintKind(code), error as Error);
  if (code === "53100")
    return new AegisError("storage_full", `the disk of ${where} is full: nothing was stored`, {
      hint: "free some space on the database server and try again; everything accepted before is intact",
      cause: error,
    });
  if (code === "54000")
    return new AegisError("too_large", `a value is larger than ${where} can hold`, { cause: error });
  if (isErrno(code) || transient.some((prefix) => code.startsWith(prefix))) return unreachable(error, where);
  return internal(error, where);
}

/** Whether a later attempt may succeed without a change of the configuration. */
export function isTransient(error: unknown): boolean {
  if (isConnectionLoss(error)) return true;
  if (error instanceof NotWritableError) return true;
  const code = codeOf(error);
  if (code === null || refusalOf(error) !== null || isUnreadableFile(error)) return false;
  return isErrno(code) || transient.some((prefix) => code.startsWith(prefix));
}

export function codeOf(error: unknown): string | null {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : null;
}

/** Later the server may be writable, or another one of the URL. */
class NotWritableError extends AegisError {}

export function notWritable(where: string, kind: "standby" | "read-only"): AegisError {
  return kind === "standby"
    ? new NotWritableError("unavailable", `${where} is a standby, which cannot be written`, {
        hint: "use the address of the primary, or list all servers: postgres://role@first,second/database",
      })
    : new AegisError("unavailable", `${where} is read-only`, {
        hint: "set default_transaction_read_only to off for this role and database",
      });
}

function refused(error: unknown, where: string, hint: string): AegisError {
  return new AegisError("unavailable", `${where} refused: ${errorText(error)}`, { hint, cause: error });
}

/** What the user can do about a refusal. Null for every other error. */
function refusalOf(error: unknown): string | null {
  const code = codeOf(error) ?? "";
  if (code === poolerCode) return statedRefusal(error) ?? poolerRefusal(error);
  return statedRefusal(error) ?? (code === rightsCode ? rightsRefusal(error) : (refusals[code] ?? null));
}

const rightsCode = "42501";

/** What a role lacks. Rights on tables are checked before the tables are used. */
function rightsRefusal(error: unknown): string {
  const detail = error instanceof Error && "detail" in error ? String(error.detail) : "";
  if (/CONNECT privilege/i.test(detail)) return "grant the role CONNECT on the database";
  if (/must be owner/i.test(errorText(error)))
    return "the tables must be migrated by the role that owns them: start the first node of this version with that role";
  return "grant the role CREATE on the database, or make it the owner of the schema";
}

/** PgBouncer gives this code to all of its own errors, also to those of a server that is away. */
const poolerCode = "08P01";

function poolerRefusal(error: unknown): string | null {
  const text = errorText(error);
  if (/not allowed in (statement|transaction) pooling/i.test(text))
    return "connect to PostgreSQL itself, or to a connection pooler in session mode";
  if (/unsupported startup parameter/i.test(text))
    return "remove it from the database URL, or add it to ignore_startup_parameters of PgBouncer";
  if (/no such database|no such user|auth|password|SSL required|not allowed/i.test(text))
    return "check the role, the password and the database of the URL, and the configuration of the connection pooler";
  return null;
}

/** What the user can do about a refusal that only the driver's text or TLS code identifies. */
function statedRefusal(error: unknown): string | null {
  const text = error instanceof Error ? error.message : "";
  if (/password must be a string/i.test(text)) return "the server wants a password: add it to the database URL";
  if (/does not support SSL/i.test(text))
    return "the server has no TLS: configure it there, or remove sslmode from the URL if the network is private";
  const code = codeOf(error) ?? "";
  if (code.startsWith("ERR_OSSL"))
    return "sslrootcert, sslcert and sslkey of the database URL must name files in PEM format";
  if (/CERT|SELF_SIGNED|UNABLE_TO_VERIFY|ERR_TLS|^ERR_SSL/.test(code))
    return "the server's certificate was not accepted: add sslrootcert=/path/to/ca.pem to the URL, or correct its host";
  return null;
}

/** What the user can do about a server that answers and refuses. */
const refusals: Readonly<Record<string, string>> = {
  "28000": "check the role, the database and the server's pg_hba.conf",
  "28P01": "check the role and the password of the database URL",
  "3D000": "create the database, or correct its name in the database URL",
  "3F000": "let a role that may create schemas start Aegis once, or create the schema for this role",
};

/**
 * SQLSTATE prefixes: lost connections, serialization failures and deadlocks, too few resources, a lock that another
 * writer holds too long, a server that stops or is read-only, a transaction that stood still too long, and one whose
 * earlier statement failed.
 */
const transient = ["08", "40", "53", "55P03", "57", "25006", "25P02", "25P03"] as const;

function constraintKind(code: string): ConstraintError["kind"] {
  if (code === "23505") return "unique";
  return code === "23503" ? "reference" : "other";
}

function isErrno(code: string): boolean {
  return /^E[A-Z]{3,}/.test(code);
}

/** The driver reports the loss of a connection as a plain error. */
function isConnectionLoss(error: unknown): boolean {
  return (
    error instanceof Error &&
    codeOf(error) === null &&
    /connection terminated|not queryable|timeout expired|timeout exceeded|read timeout|connection error|connection ended/i.test(
      error.message,
    )
  );
}

/** A file that the URL names, as that of a certificate. A socket that is missing fails in `connect`. */
function isUnreadableFile(error: unknown): boolean {
  if (!(error instanceof Error && "syscall" in error)) return false;
  return error.syscall === "open" || codeOf(error) === "EISDIR";
}

function unreadableFile(error: unknown, where: string): AegisError {
  return new AegisError("unavailable", `a file for ${where} cannot be read: ${errorText(error)}`, {
    hint: "correct the path in sslrootcert, sslcert or sslkey of the database URL",
    cause: error,
  });
}

/** The error of a command or a start, which does not try again by itself. */
export function finalError(error: unknown, where: string): unknown {
  const known = postgresError(error, where);
  if (!(known instanceof StoreAwayError)) return known;
  return new StoreAwayError(known.message, {
    hint: "check the address in the database URL, that the server runs and that this machine reaches it",
    cause: error,
  });
}

function unreachable(error: unknown, where: string): StoreAwayError {
  return new StoreAwayError(`${where} cannot be used: ${errorText(error)}`, {
    hint: "check that the server runs and that this machine reaches it; Aegis tries again by itself",
    cause: error,
  });
}

function internal(error: unknown, where: string): AegisError {
  return new AegisError("internal", `${where}: ${errorText(error)}`, { cause: error });
}
