/** Parses the daemon's command line and reports why it cannot start. */
import { setTimeout } from "node:timers/promises";
import { parseArgs } from "node:util";
import { AegisError, isAegisError } from "../contract/errors.ts";
import { daemonExit } from "../lib/daemon-file.ts";
import { errorText } from "../lib/log.ts";
import { UnknownStateError } from "../project/state/judge.ts";
import { ProjectTakenError } from "../project/state/lock.ts";
import { type DaemonOptions, runDaemon } from "./run.ts";

const rejoinMs = 1_000;

/** Runs until the daemon ends and returns its exit code. Prints to standard error why it could not start. */
export async function runFromCommandLine(argv: readonly string[], env: NodeJS.ProcessEnv): Promise<number> {
  try {
    const options = { ...readArguments(argv, env), history: { published: 0 } };
    for (let isAgain = false; (await runAgain(options, isAgain)) === "fenced"; ) isAgain = true;
    return 0;
  } catch (error) {
    const text = isAegisError(error)
      ? [error.message, error.hint].filter(Boolean).join("\n")
      : String(error instanceof Error ? error.stack : error);
    process.stderr.write(`aegis: ${text}\n`);
    return exitCodeOf(error);
  }
}

/** A node that was fenced joins again as soon as it reaches the database. */
async function runAgain(options: DaemonOptions, isAgain: boolean): Promise<"stopped" | "fenced"> {
  for (;;) {
    try {
      return await runDaemon(options);
    } catch (error) {
      if (!isAgain || !isAegisError(error) || error.code !== "unavailable") throw error;
      process.stderr.write(`aegis: the node cannot join again yet: ${error.message}\n`);
      await setTimeout(rejoinMs);
    }
  }
}

function exitCodeOf(error: unknown): number {
  if (error instanceof ProjectTakenError) return daemonExit.projectTaken;
  if (error instanceof UnknownStateError) return daemonExit.stateUnknown;
  // The arguments or the configuration are invalid.
  const refused = isAegisError(error) && ["invalid", "forbidden", "not_found"].includes(error.code);
  return refused ? daemonExit.invalid : daemonExit.failed;
}

function readArguments(argv: readonly string[], env: NodeJS.ProcessEnv): DaemonOptions {
  const values = parseOptions(argv);
  return {
    root: values.project ?? process.cwd(),
    env,
    allowRemote: values["allow-remote"],
    patient: values.patient,
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
        patient: { type: "boolean", default: false },
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
