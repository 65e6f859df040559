#!/usr/bin/env node
/** The entry point of the `aegis` command. It loads only what the command needs, to start fast. */
import { fileURLToPath } from "node:url";
import { useCompileCache } from "@aegis/lib/compile-cache.ts";

const oldestNode = 24;

async function main(argv: readonly string[]): Promise<number> {
  const [first] = argv;
  if (argv.length === 1 && (first === "--version" || first === "-V")) {
    const { packageVersion } = await import("@aegis/lib/version.ts");
    process.stdout.write(`${packageVersion()}\n`);
    return 0;
  }
  if (Number.parseInt(process.versions.node, 10) < oldestNode) {
    const [{ relaunch }, { packageRoot }] = await Promise.all([
      import("./relaunch.ts"),
      import("@aegis/lib/assets.ts"),
    ]);
    return relaunch({
      argv,
      env: process.env,
      version: process.versions.node,
      oldest: oldestNode,
      entry: fileURLToPath(import.meta.url),
      packageRoot: packageRoot(),
      stdout: (text) => void process.stdout.write(text),
      stderr: (text) => void process.stderr.write(text),
    });
  }
  useCompileCache();
  if (first === "__complete") {
    const { complete } = await import("./program/complete.ts");
    for (const line of await complete(process.cwd(), argv.slice(1))) process.stdout.write(`${line}\n`);
    return 0;
  }
  // Shell prompts and editors call `status` often; without options it needs no parser.
  if (first === "status" && argv.slice(1).every((word) => word === "--json")) {
    const [{ runCommand }, { createTerminal }, { status }] = await Promise.all([
      import("./program/run-command.ts"),
      import("./terminal/terminal.ts"),
      import("./commands/daemon/status.ts"),
    ]);
    return runCommand(createTerminal({ json: argv.length > 1, project: undefined }), status);
  }
  // The reader of the help may close the pipe early; commands handle this themselves.
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE") throw error;
  });
  const { runProgram } = await import("./program/program.ts");
  return runProgram(argv);
}

process.exitCode = await main(process.argv.slice(2));
