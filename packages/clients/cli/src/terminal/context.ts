/** The parts of the terminal that a command uses. Tests provide their own. */
import type { Output } from "./output.ts";

export type CliContext = Output & {
  cwd: string;
  env: Readonly<Record<string, string | undefined>>;
  /** A person can answer questions. */
  interactive: boolean;
  columns: number;
  rows: number;
  stdin: NodeJS.ReadableStream;
};

/** Exit codes, documented in docs/cli.md. */
export const exitCodes = {
  ok: 0,
  /** The command ran and the result is negative: a turn failed, a check did not pass. */
  failed: 1,
  /** Invalid arguments or configuration. */
  usage: 2,
  /** No daemon could be reached or started. */
  noDaemon: 3,
  interrupted: 130,
} as const;
