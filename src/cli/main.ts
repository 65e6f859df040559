#!/usr/bin/env node
/** The entry of the `aegis` command. It stays tiny: what a command needs is loaded when the command is known. */
import { useCompileCache } from "../lib/compile-cache.ts";

const oldestNode = 24;

async function main(argv: readonly string[]): Promise<number> {
  const [first] = argv;
  if (argv.length === 1 && (first === "--version" || first === "-V")) {
    const { packageVersion } = await import("../lib/version.ts");
    process.stdout.write(`${packageVersion()}\n`);
    return 0;
  }
  if (Number.parseInt(process.versions.node, 10) < oldestNode) {
    process.stderr.write(`aegis: Node ${process.versions.node} is too old: expected ${oldestNode} or newer\n`);
    return 2;
  }
  useCompileCache();
  if (first === "__complete") {
    const { complete } = await import("./commands/complete.ts");
    for (const line of await complete(process.cwd(), argv.slice(1))) process.stdout.write(`${line}\n`);
    return 0;
  }
  // Prompts and editors call this one all the time; without options it needs no parser.
  if (first === "status" && argv.slice(1).every((word) => word === "--json")) {
    const [{ runCommand }, { createTerminal }, { status }] = await Promise.all([
      import("./run-command.ts"),
      import("./terminal.ts"),
      import("./commands/status.ts"),
    ]);
    return runCommand(createTerminal({ json: argv.length > 1, project: undefined }), status);
  }
  // Whoever reads our help may leave early; commands handle that themselves.
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE") throw error;
  });
  const { runProgram } = await import("./program.ts");
  return runProgram(argv);
}

process.exitCode = await main(process.argv.slice(2));
