/** The children that were started, on disk: what the next daemon looks through when this one was killed. */
import { appendFileSync, mkdirSync, readFileSync } from "node:fs";
import { dirname } from "node:path";
import { isErrno, writeAtomic } from "../files.ts";

export type LedgerEntry = {
  pid: number;
  /** Null when the child was gone before it could be read: such an entry never matches a process. */
  start: string | null;
  command: string;
};

export interface Ledger {
  /** Returns when the line is with the system: it survives the end of this process. */
  add(entry: LedgerEntry): void;
  entries(): LedgerEntry[];
  replace(entries: readonly LedgerEntry[]): Promise<void>;
}

const commandMaxLength = 200;

export function createLedger(file: string): Ledger {
  return {
    add(entry) {
      mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
      appendFileSync(file, toLine(entry), { mode: 0o600 });
    },
    entries: () => read(file).split("\n").flatMap(parseEntry),
    async replace(entries) {
      mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
      await writeAtomic(file, entries.map(toLine).join(""), { mode: 0o600 });
    },
  };
}

function toLine(entry: LedgerEntry): string {
  return `${JSON.stringify({ ...entry, command: entry.command.slice(0, commandMaxLength) })}\n`;
}

function read(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    if (isErrno(error, "ENOENT")) return "";
    throw error;
  }
}

/** A torn or foreign line names no process. */
function parseEntry(line: string): LedgerEntry[] {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return [];
  }
  if (typeof value !== "object" || value === null) return [];
  const { pid, start, command } = value as Record<string, unknown>;
  if (typeof pid !== "number" || !Number.isInteger(pid) || pid <= 1) return [];
  return [{ pid, start: typeof start === "string" ? start : null, command: String(command ?? "") }];
}
