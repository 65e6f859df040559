/** The terminal of a command, created from the process. Only this module and `main.ts` use the process's terminal. */
import { dirname, resolve } from "node:path";
import type { Client } from "@aegis/client/client.ts";
import type { Connection } from "../daemon/connection.ts";
import type { DaemonOptions } from "../daemon/daemon-process.ts";
import type { CliContext } from "./context.ts";
import { createOutput } from "./output.ts";

type StopSignal = "SIGINT" | "SIGTERM" | "SIGPIPE";

/** Adds what long-running commands need: signals, and raw output for full-screen programs. */
export type Terminal = CliContext & {
  stdout: NodeJS.WritableStream;
  stdinIsTerminal: boolean;
  /** Keys can be read one by one and the cursor can be moved: input and output are a terminal that is not dumb. */
  editable: boolean;
  /** The terminal can show characters beyond ASCII. */
  unicode: boolean;
  /** Handles Ctrl-C, SIGTERM and a closed output pipe. Returns a function that removes the listener. */
  onStop(listener: (signal: StopSignal) => void): () => void;
  /** Exits the process immediately. */
  leave(exitCode: number): never;
  /** A client of the project's daemon; starts the daemon if none runs. */
  daemon(options?: DaemonOptions): Promise<Connection>;
  /** Makes one request to that daemon. */
  call: Client["call"];
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
    // Writing to a closed terminal fails with EIO.
    if (error.code !== "EPIPE" && error.code !== "EIO") throw error;
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
  const { json } = options;
  const output = createOutput({
    json,
    color: !json && stdout.isTTY === true && (env.NO_COLOR ?? "") === "" && env.TERM !== "dumb",
    write,
    warn: (line) => {
      stderr.write(`${line}\n`);
    },
  });
  const cx: Terminal = {
    ...output,
    cwd: resolve(startFolder(process.cwd(), env), options.project ?? "."),
    env,
    interactive: !json && stdin.isTTY === true && stdout.isTTY === true,
    // Read each time: the window size may change while a command draws.
    get columns() {
      return stdout.columns ?? 100;
    },
    get rows() {
      return stdout.rows ?? 24;
    },
    stdin,
    stdout,
    stdinIsTerminal: stdin.isTTY === true,
    editable: !options.json && stdin.isTTY === true && stdout.isTTY === true && env.TERM !== "dumb",
    unicode: env.TERM !== "linux" && /utf-?8/i.test(env.LC_ALL || env.LC_CTYPE || env.LANG || ""),
    onStop(listener) {
      // Without a listener, Ctrl-C and SIGTERM must end the process.
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
    daemon: (options) => import("../daemon/connection.ts").then((it) => it.ensureDaemon(cx, options)),
    call: (name, ...input) => cx.daemon().then(({ client }) => client.call(name, ...input)),
  };
  return cx;
}

/**
 * npm runs scripts in the package folder and sets INIT_CWD to the user's folder. All descendants inherit the variable,
 * so it applies only to the process that npm itself started.
 */
export function startFolder(cwd: string, env: CliContext["env"]): string {
  const { INIT_CWD: initial, npm_package_json: manifest } = env;
  return initial !== undefined && manifest !== undefined && dirname(manifest) === cwd ? initial : cwd;
}
