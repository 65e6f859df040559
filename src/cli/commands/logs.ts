/** `aegis logs`: the daemon's log, also when no daemon runs. */
import { daemonLogPath, findProjectRoot } from "../../lib/daemon-file.ts";
import { isErrno } from "../../lib/files.ts";
import { exitCodes } from "../context.ts";
import { CliError } from "../failure.ts";
import { logLine } from "../format/log-line.ts";
import { createStyle } from "../format/style.ts";
import { showTail } from "../tail-file.ts";
import type { Terminal } from "../terminal.ts";

export type LogsArgs = { follow: boolean; lines: number | undefined };

const defaultLines = 50;

export async function logs(cx: Terminal, args: LogsArgs): Promise<number> {
  const path = daemonLogPath(findProjectRoot(cx.cwd));
  const style = createStyle(cx.color);
  const show = (line: string) => cx.print(cx.json ? jsonLine(line) : logLine(line, style));
  try {
    await showTail(cx, path, { follow: args.follow, lines: args.lines ?? defaultLines }, show);
    return exitCodes.ok;
  } catch (error) {
    if (!isErrno(error, "ENOENT")) throw error;
    throw new CliError(exitCodes.noDaemon, `there is no log yet at ${path}`, { hint: "start a daemon with: aegis up" });
  }
}

/** What is not JSON in the log becomes a record, so that `--json` gives JSON lines only. */
function jsonLine(line: string): string {
  try {
    JSON.parse(line);
    return line;
  } catch {
    return JSON.stringify({ msg: line });
  }
}
