/** The terminal a command runs in, taken from the process. With `main.ts` the only module that touches it. */
import { dirname, resolve } from "node:path";
import type { CliContext } from "./context.ts";

export type StopSignal = "SIGINT" | "SIGTERM" | "SIGPIPE";

/** What longer-running commands need besides: signals, and the raw output for line editing. */
export type Terminal = CliContext & {
  stdout: NodeJS.WritableStream;
  stdinIsTerminal: boolean;
  /** Takes over Ctrl-C, a request to end, and a reader that went away. Returns its undo. */
  onStop(listener: (signal: StopSignal) => void): () => void;
  /** Ends the process at once. */
  leave(exitCode: number): never;
};

export function createTerminal(options: { json: boolean; project: string | undefined }): Terminal {
  const { stdin, stdout, stderr, env } = process;
  const listeners = new Set<(signal: StopSignal) => void>();
  let readerGone = false;

  const tell = (signal: StopSignal) => {
    for (const listener of [...listeners]) listener(signal);
  };
  const onInterrupt = () => tell("SIGINT");
  const onTerminate = () => tell("SIGTERM");
  const onOutputError = (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE") throw error;
    if (readerGone) return;
    readerGone = true;
    if (listeners.size === 0) process.exit(0);
    tell("SIGPIPE");
  };
  stdout.on("error", onOutputError);
  stderr.on("error", onOutputError);

  const write = (text: string) => {
    if (!readerGone) stdout.write(text);
  };
  return {
    cwd: resolve(startFolder(process.cwd(), env), options.project ?? "."),
    env,
    json: options.json,
    color: !options.json && stdout.isTTY === true && (env.NO_COLOR ?? "") === "" && env.TERM !== "dumb",
    interactive: !options.json && stdin.isTTY === true && stdout.isTTY === true,
    // Asked anew each time: a window may change while a command draws in it.
    get columns() {
      return stdout.columns ?? 100;
    },
    get rows() {
      return stdout.rows ?? 24;
    },
    stdin,
    stdout,
    stdinIsTerminal: stdin.isTTY === true,
    write,
    print: (line) => write(`${line}\n`),
    printJson: (value) => write(`${JSON.stringify(value)}\n`),
    warn: (line) => {
      stderr.write(`${line}\n`);
    },
    onStop(listener) {
      // Without a listener Ctrl-C and SIGTERM end the process, as they should.
      if (listeners.size === 0) {
        process.on("SIGINT", onInterrupt);
        process.on("SIGTERM", onTerminate);
      }
      listeners.add(listener);
      return () => {
        listeners.delete(listener);
        if (listeners.size > 0) return;
        process.off("SIGINT", onInterrupt);
        process.off("SIGTERM", onTerminate);
      };
    },
    leave: (exitCode) => process.exit(exitCode),
  };
}

/**
 * npm runs scripts in the package's folder and says in INIT_CWD where the person was. The variable is inherited by
 * everything below, so it counts only for the process that npm itself started.
 */
export function startFolder(cwd: string, env: CliContext["env"]): string {
  const { INIT_CWD: initial, npm_package_json: manifest } = env;
  return initial !== undefined && manifest !== undefined && dirname(manifest) === cwd ? initial : cwd;
}
