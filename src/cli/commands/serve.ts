/** `aegis serve`: the daemon in the foreground, with a log people can read. */
import { AegisError } from "../../contract/errors.ts";
import { daemonExit } from "../../lib/daemon-exit.ts";
import { findProjectRoot } from "../../lib/daemon-file.ts";
import { lines } from "../../lib/jsonl.ts";
import { findDaemon } from "../connection.ts";
import { exitCodes } from "../context.ts";
import { type DaemonOptions, startForegroundDaemon } from "../daemon-process.ts";
import { logLine } from "../format/log-line.ts";
import { createStyle } from "../format/style.ts";
import type { Terminal } from "../terminal.ts";

export async function serve(cx: Terminal, args: DaemonOptions): Promise<number> {
  const running = await findDaemon(cx);
  if (running !== null) {
    throw new AegisError("conflict", `a daemon runs here already (pid ${running.daemon.pid})`, {
      hint: "stop it with aegis down, or follow it with aegis logs -f",
    });
  }
  const style = createStyle(cx.color);
  const daemon = await startForegroundDaemon(findProjectRoot(cx.cwd), cx.env, args);
  const undo = cx.onStop(() => daemon.stop());
  try {
    for await (const line of lines(daemon.output)) cx.print(cx.json ? line : logLine(line, style));
    const code = await daemon.exited;
    if (code === 0) return exitCodes.ok;
    return code === daemonExit.invalid ? exitCodes.usage : exitCodes.failed;
  } finally {
    undo();
  }
}
