/** What a command gets of the terminal it runs in. Tests give their own. */

export type CliContext = {
  cwd: string;
  env: Readonly<Record<string, string | undefined>>;
  /** `--json`: one JSON document (or JSON lines for streams) on stdout and nothing else. */
  json: boolean;
  /** Colour is for terminals only and never with NO_COLOR. */
  color: boolean;
  /** A person can answer questions. */
  interactive: boolean;
  columns: number;
  rows: number;
  stdin: NodeJS.ReadableStream;
  /** Text to stdout as it is, for streaming. */
  write(text: string): void;
  /** A line to stdout. */
  print(line: string): void;
  printJson(value: unknown): void;
  /** A line to stderr. */
  warn(line: string): void;
};

/** Exit codes, documented in docs/cli.md. */
export const exitCodes = {
  ok: 0,
  /** The command ran and the answer is no: a turn failed, a check did not pass. */
  failed: 1,
  /** Wrong arguments or wrong configuration. */
  usage: 2,
  /** No daemon could be reached or started. */
  noDaemon: 3,
  interrupted: 130,
} as const;
