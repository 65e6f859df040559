/** Records started children on disk, so that the next daemon can find them if this one is killed. */
import { appendFileSync, readFileSync } from "node:fs";
import { isErrno, writeAtomic } from "../files.ts";

type LedgerEntry = {
  pid: number;
  /** Null if the child ended before its start time could be read. Such an entry never matches a process. */
  start: string | null;
  /** The mark in its environment; null in a ledger from an earlier version. */
  child: string | null;
  command: string;
};

export interface Ledger {
  /** Writes synchronously, so that the line survives the end of this process. */
  add(entry: LedgerEntry): void;
  entries(): LedgerEntry[];
  replace(entries: readonly LedgerEntry[]): Promise<void>;
}

const commandMaxLength = 200;

/**
 * The folder of the file must exist: a ledger does not create state that was deleted or never claimed. Null
 * records nothing.
 */
export function createLedger(file: string | null): Ledger {
  if (file === null) return { add() {}, entries: () => [], async replace() {} };
  return {
    add: (entry) => appendFileSync(file, toLine(entry), { mode: 0o600 }),
    entries: () => read(file).split("\n").flatMap(parseEntry),
    async replace(entries) {
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

/** An incomplete or invalid line is ignored. */
function parseEntry(line: string): LedgerEntry[] {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return [];
  }
  if (typeof value !== "object" || value === null) return [];
  const { pid, start, child, command } = value as Record<string, unknown>;
  if (typeof pid !== "number" || !Number.isInteger(pid) || pid <= 1) return [];
  const text = (field: unknown) => (typeof field === "string" ? field : null);
  return [{ pid, start: text(start), child: text(child), command: String(command ?? "") }];
}
