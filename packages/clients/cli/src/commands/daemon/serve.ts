/** `aegis serve`: runs the daemon in the foreground with a readable log. */
import { AegisError } from "@aegis/contract/errors.ts";
import { daemonExit, findProjectRoot } from "@aegis/lib/daemon-file.ts";
import { lines } from "@aegis/lib/jsonl.ts";
import { findDaemon } from "../../daemon/connection.ts";
import { startForegroundDaemon } from "../../daemon/daemon-process.ts";
import { logLine } from "../../format/log-line.ts";
import type { Handler } from "../../program/command.ts";
import { exitCodes } from "../../terminal/context.ts";
import type { daemonCommands } from "./spec.ts";

export const serve: Handler<typeof daemonCommands.serve> = async (cx, args) => {
  const running = await findDaemon(cx);
  if (running !== null) {
    throw new AegisError("conflict", `a daemon is already running here (pid ${running.daemon.pid})`, {
      hint: "stop it with aegis down, or follow it with aegis logs -f",
    });
  }
  const style = cx.style;
  const daemon = await startForegroundDaemon(findProjectRoot(cx.cwd), cx.env, args);
  const undo = cx.onStop(() => daemon.stop());
  try {
    for await (const line of lines(daemon.output)) cx.print(cx.json ? line : logLine(line, style));
    const code = await daemon.exited;
    if (code === 0) return;
    if (code === daemonExit.stateUnknown) return exitCodes.noDaemon;
    return code === daemonExit.invalid ? exitCodes.usage : exitCodes.failed;
  } finally {
    undo();
  }
};
