/** The process around a full-screen program: its signals, its suspension, and a terminal that is always restored. */
import { exitCodes } from "./context.ts";
import type { Terminal } from "./terminal.ts";

type FullScreenProgram = {
  /** Gives the terminal back. May be called more than once. */
  restore(): void;
  /** Takes the terminal again and draws everything. */
  resume(): void;
};

export type FullScreen = {
  /** Aborts when the program has to end. */
  readonly signal: AbortSignal;
  open(program: FullScreenProgram): void;
  /** Runs another program on the terminal: keys that interrupt or suspend are for that program. */
  lend<T>(program: () => Promise<T>): Promise<T>;
  /** Stops the whole job until the shell continues it. */
  suspendJob(): void;
  /** Removes the listeners. Returns the exit code. */
  close(): number;
};

/** 128 plus the number of the signal, as shells report it. */
const signalCodes = { SIGTERM: 143, SIGHUP: 129, SIGINT: exitCodes.interrupted, SIGPIPE: exitCodes.ok } as const;

export function openFullScreen(cx: Pick<Terminal, "onStop" | "stdin">): FullScreen {
  const stopped = new AbortController();
  let program: FullScreenProgram | null = null;
  let code: number = exitCodes.ok;
  let isLent = false;
  const stop = (signal: keyof typeof signalCodes) => {
    if (isLent && signal === "SIGINT") return;
    code = signalCodes[signal];
    program?.restore();
    stopped.abort();
  };
  const restore = () => program?.restore();
  const onHangUp = () => stop("SIGHUP");
  const suspend = (target: number) => {
    program?.restore();
    // Without a listener the signal stops the process here, unless no shell could continue it.
    process.off("SIGTSTP", onSuspend);
    process.kill(target, "SIGTSTP");
    process.on("SIGTSTP", onSuspend);
  };
  const onSuspend = () => {
    // The other program stops with the job, and continues with it.
    if (isLent) {
      process.off("SIGTSTP", onSuspend);
      process.kill(process.pid, "SIGTSTP");
      process.on("SIGTSTP", onSuspend);
      return;
    }
    suspend(process.pid);
    program?.resume();
  };
  const onContinue = () => {
    if (isLent) return;
    // The shell has set its own modes while the process was stopped.
    program?.restore();
    program?.resume();
    // A change of the size in the meantime was reported to the shell.
    process.kill(process.pid, "SIGWINCH");
  };
  const undo = cx.onStop(stop);
  process.on("exit", restore);
  process.on("uncaughtExceptionMonitor", restore);
  process.on("SIGHUP", onHangUp);
  process.on("SIGTSTP", onSuspend);
  process.on("SIGCONT", onContinue);
  cx.stdin.on("end", onHangUp);
  cx.stdin.on("error", onHangUp);
  return {
    signal: stopped.signal,
    open(opened) {
      program = opened;
    },
    async lend(other) {
      isLent = true;
      try {
        return await other();
      } finally {
        isLent = false;
      }
    },
    suspendJob: () => suspend(0),
    close() {
      undo();
      process.off("exit", restore);
      process.off("uncaughtExceptionMonitor", restore);
      process.off("SIGHUP", onHangUp);
      process.off("SIGTSTP", onSuspend);
      process.off("SIGCONT", onContinue);
      cx.stdin.off("end", onHangUp);
      // Keep the error listener: a closed terminal may report an error later.
      return code;
    },
  };
}
