/** Entry of the daemon process: `node daemon.js --project <folder> [--foreground]`. */
import { parseArgs } from "node:util";
import { isAegisError } from "../contract/errors.ts";
import { runDaemon } from "./run.ts";

const { values } = parseArgs({
  options: {
    project: { type: "string" },
    foreground: { type: "boolean", default: false },
    agent: { type: "string" },
    port: { type: "string" },
    bind: { type: "string" },
    "allow-remote": { type: "boolean", default: false },
  },
});

try {
  await runDaemon({
    root: values.project ?? process.cwd(),
    env: process.env,
    allowRemote: values["allow-remote"],
    ...(values.agent === undefined ? {} : { agent: values.agent }),
    ...(values.port === undefined ? {} : { port: Number(values.port) }),
    ...(values.bind === undefined ? {} : { bind: values.bind }),
  });
  process.exit(0);
} catch (error) {
  const text = isAegisError(error)
    ? [error.message, error.hint].filter(Boolean).join("\n")
    : String(error instanceof Error ? error.stack : error);
  process.stderr.write(`aegis: ${text}\n`);
  process.exit(isAegisError(error) && error.code === "conflict" ? 4 : 1);
}
