/** Parses the daemon's command line and reports why it cannot start. */
import { setTimeout } from "node:timers/promises";
import { parseArgs } from "node:util";
import { AegisError, isAegisError } from "@aegis/contract/errors.ts";
import { type Backoff, backoffMs } from "@aegis/lib/backoff.ts";
import { daemonExit } from "@aegis/lib/daemon-file.ts";
import { errorText } from "@aegis/lib/log.ts";
import { UnknownStateError } from "@aegis/project/state/judge.ts";
import { ProjectTakenError } from "@aegis/project/state/lock.ts";
import { storeError } from "@aegis/store-sqlite/errors.ts";
import { mayJoinAgain, Outages } from "./rejoin.ts";
import { type DaemonOptions, runDaemon } from "./run.ts";

const rejoin: Backoff = { firstMs: 1_000, longestMs: 2_000 };
/** A reason that has not changed is repeated this often. */
const sayEveryMs = 60_000;

/** Runs until the daemon ends and returns its exit code. Prints to standard error why it could not start. */
export async function runFromCommandLine(argv: readonly string[], env: NodeJS.ProcessEnv): Promise<number> {
  let root = process.cwd();
  try {
    const options = { ...readArguments(argv, env), history: { published: 0 }, outages: new Outages() };
    root = options.root;
    for (let isAgain = false; (await runAgain(options, isAgain)) === "fenced"; ) isAgain = true;
    return 0;
  } catch (error) {
    process.stderr.write(`aegis: ${textOf(error, root)}\n`);
    return exitCodeOf(error);
  }
}

/** A node that was fenced joins again as soon as it can. Throws what it cannot outlast. */
async function runAgain(options: DaemonOptions, isAgain: boolean): Promise<"stopped" | "fenced"> {
  let said = { text: "", at: 0 };
  for (let failures = 1; ; failures += 1) {
    try {
      return await runDaemon(options);
    } catch (error) {
      if (!isAgain || !mayJoinAgain(error)) throw error;
      const text = textOf(error, options.root);
      if (text !== said.text || performance.now() - said.at > sayEveryMs) {
        said = { text, at: performance.now() };
        process.stderr.write(`aegis: the node cannot join again yet: ${text}\n`);
      }
      await setTimeout(backoffMs(rejoin, failures));
    }
  }
}

/** A full disk of this machine is named, and not shown as a stack. */
function textOf(thrown: unknown, root: string): string {
  const error = storeError(thrown, root);
  if (isAegisError(error)) return [error.message, error.hint].filter(Boolean).join("\n");
  return String(error instanceof Error ? error.stack : error);
}

function exitCodeOf(error: unknown): number {
  if (error instanceof ProjectTakenError) return daemonExit.projectTaken;
  if (error instanceof UnknownStateError) return daemonExit.stateUnknown;
  // The arguments or the configuration are invalid.
  const refused = isAegisError(error) && ["invalid", "forbidden", "not_found"].includes(error.code);
  return refused ? daemonExit.invalid : daemonExit.failed;
}

function readArguments(argv: readonly string[], env: NodeJS.ProcessEnv): Omit<DaemonOptions, "outages"> {
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
    hint: "port 0 selects a free one",
  });
}
