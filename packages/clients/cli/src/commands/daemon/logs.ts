/** `aegis logs`: shows the daemon's log, even if no daemon is running. */
import { daemonLogPath, findProjectRoot } from "@aegis/lib/daemon-file.ts";
import { isErrno } from "@aegis/lib/files.ts";
import { logLine } from "../../format/log-line.ts";
import type { Handler } from "../../program/command.ts";
import { CliError } from "../../program/failure.ts";
import { exitCodes } from "../../terminal/context.ts";
import { showTail } from "../../terminal/tail-file.ts";
import type { daemonCommands } from "./spec.ts";

export const logs: Handler<typeof daemonCommands.logs> = async (cx, args) => {
  const path = daemonLogPath(findProjectRoot(cx.cwd));
  const show = (line: string) => cx.print(cx.json ? jsonLine(line) : logLine(line, cx.style));
  try {
    await showTail(cx, path, { follow: args.follow, lines: args.lines }, show);
  } catch (error) {
    if (!isErrno(error, "ENOENT")) throw error;
    throw new CliError(exitCodes.noDaemon, `there is no log yet at ${path}`, {
      hint: "start the daemon with: aegis up",
    });
  }
};

/** Wraps a log line that is not JSON in a record, so that `--json` prints JSON lines only. */
function jsonLine(line: string): string {
  try {
    JSON.parse(line);
    return line;
  } catch {
    return JSON.stringify({ msg: line });
  }
}
