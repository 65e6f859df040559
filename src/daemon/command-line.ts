/** What the daemon is told when it is started, and how it says that it cannot. */
import { parseArgs } from "node:util";
import { AegisError, isAegisError } from "../contract/errors.ts";
import { daemonExit } from "../lib/daemon-exit.ts";
import { errorText } from "../lib/log.ts";
import { ProjectTakenError } from "./lock.ts";
import { type DaemonOptions, runDaemon } from "./run.ts";

/** Runs until the daemon ends. Gives its exit code, and says on standard error why it could not start. */
export async function runFromCommandLine(argv: readonly string[], env: NodeJS.ProcessEnv): Promise<number> {
  try {
    await runDaemon(readArguments(argv, env));
    return 0;
  } catch (error) {
    const text = isAegisError(error)
      ? [error.message, error.hint].filter(Boolean).join("\n")
      : String(error instanceof Error ? error.stack : error);
    process.stderr.write(`aegis: ${text}\n`);
    return exitCodeOf(error);
  }
}

function exitCodeOf(error: unknown): number {
  if (error instanceof ProjectTakenError) return daemonExit.projectTaken;
  // What arguments or the configuration ask for and cannot have.
  const refused = isAegisError(error) && ["invalid", "forbidden", "not_found"].includes(error.code);
  return refused ? daemonExit.invalid : daemonExit.failed;
}

function readArguments(argv: readonly string[], env: NodeJS.ProcessEnv): DaemonOptions {
  const values = parseOptions(argv);
  return {
    root: values.project ?? process.cwd(),
    env,
    allowRemote: values["allow-remote"],
    ...(values.agent === undefined ? {} : { agent: values.agent }),
    ...(values.port === undefined ? {} : { port: portFrom(values.port) }),
    ...(values.bind === undefined ? {} : { bind: values.bind }),
  };
}

function parseOptions(argv: readonly string[]) {
  try {
    return parseArgs({
      args: [...argv],
      options: {
        project: { type: "string" },
        agent: { type: "string" },
        port: { type: "string" },
        bind: { type: "string" },
        "allow-remote": { type: "boolean", default: false },
      },
    }).values;
  } catch (error) {
    throw new AegisError("invalid", errorText(error), { cause: error });
  }
}

function portFrom(text: string): number {
  const port = Number(text);
  if (/^\d+$/.test(text) && port <= 65_535) return port;
  throw new AegisError("invalid", `--port ${text}: expected a number from 0 to 65535`, {
    hint: "port 0 takes any free one",
  });
}
