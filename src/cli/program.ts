/** Makes the parser from the command table and runs the command that the arguments name. */
import { Command, CommanderError, InvalidArgumentError, Option } from "commander";
import { packageVersion } from "../lib/version.ts";
import { exitCodes } from "./context.ts";
import { usageError } from "./failure.ts";
import { parseDuration } from "./format/time.ts";
import { report, runCommand } from "./run-command.ts";
import { type CommandSpec, Input, type OptionSpec } from "./spec.ts";
import { commandGroups, commands, home, resumed } from "./table.ts";
import { createTerminal, type Terminal } from "./terminal.ts";

export async function runProgram(argv: readonly string[]): Promise<number> {
  const result = { code: exitCodes.ok as number };
  const program = createProgram(async (spec, input) => {
    result.code = await runCommand(terminalFor(program), (cx) => spec.run(cx, input));
  });
  try {
    const { operands, unknown } = program.parseOptions([...argv]);
    if (operands.length === 0 && unknown.length === 0)
      return await runCommand(terminalFor(program), program.opts().resume === true ? resumed : home);
    await program.parseAsync([...argv], { from: "user" });
    return result.code;
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode === 0) return exitCodes.ok;
    return reportUsage(terminalFor(program), error, commandIn(program, argv));
  }
}

/** The parser with every command; `run` gets what was parsed. */
export function createProgram(run: (spec: CommandSpec, input: Input) => Promise<void>): Command {
  const program = new Command("aegis")
    .description("Runs a team of AI agents on your machine and lets them work together.")
    .version(packageVersion(), "-V, --version", "print the version")
    .helpOption("-h, --help", "show this help")
    .option("-C, --project <dir>", "work in this folder instead of the current one")
    .option("--json", "print JSON, for scripts")
    .option("--resume", "bring the daemon up and show which runs of workflows go on")
    .helpCommand("help [command]", "show help for a command")
    .addHelpText("after", "\nStart with `aegis init`, then `aegis chat`. `aegis <command> --help` shows examples.")
    // The message reaches the reader once, through `reportUsage`.
    .configureOutput({ outputError: () => {} })
    .configureHelp({ showGlobalOptions: true, sortOptions: false })
    .exitOverride();
  for (const spec of commands) addCommand(program, spec, run);
  return program;
}

function addCommand(
  program: Command,
  spec: CommandSpec,
  run: (spec: CommandSpec, input: Input) => Promise<void>,
): void {
  const words = spec.path.split(" ");
  const name = words.pop() ?? "";
  const command = groupFor(program, words).command(name, { hidden: spec.hidden === true });
  command.description(spec.summary);
  if (spec.group !== undefined && words.length === 0) command.helpGroup(spec.group);
  for (const argument of spec.arguments ?? []) command.argument(argument.synopsis, argument.description);
  for (const option of spec.options ?? []) command.addOption(createOption(option));
  if (spec.open === true) command.allowUnknownOption().helpOption(false);
  const title = spec.examples.length === 1 ? "Example:" : "Examples:";
  if (spec.examples.length > 0)
    command.addHelpText("after", ["", title, ...spec.examples.map((line) => `  $ ${line}`)].join("\n"));
  command.action(async () => {
    // An open command takes options that only its target knows; without a target the question is about itself.
    if (spec.open === true && isHelp(command.processedArgs[0])) command.help();
    const values: Record<string, unknown> = { ...command.opts() };
    for (const [index, argument] of command.registeredArguments.entries())
      values[argument.name()] = command.processedArgs[index];
    await run(spec, new Input(values));
  });
}

function isHelp(word: unknown): boolean {
  return word === "--help" || word === "-h";
}

function groupFor(program: Command, words: readonly string[]): Command {
  let parent = program;
  const path: string[] = [];
  for (const word of words) {
    path.push(word);
    let next = parent.commands.find((command) => command.name() === word);
    if (next === undefined) {
      next = parent.command(word).description(commandGroups[path.join(" ")]?.summary ?? "");
      const heading = commandGroups[path.join(" ")]?.group;
      if (heading !== undefined) next.helpGroup(heading);
    }
    parent = next;
  }
  return parent;
}

function createOption(spec: OptionSpec): Option {
  const option = new Option(spec.flags, spec.description);
  if (spec.value === "count") return option.argParser(parseCount);
  if (spec.value === "duration") return option.argParser(parseTime);
  if (spec.value === "list") return option.argParser((text, before: string[] = []) => [...before, text]);
  return option;
}

function parseCount(text: string): number {
  const count = Number(text);
  if (!/^\d+$/.test(text) || !Number.isSafeInteger(count)) throw new InvalidArgumentError("Expected a whole number.");
  return count;
}

function parseTime(text: string): number {
  const ms = parseDuration(text);
  if (ms === null) throw new InvalidArgumentError("Expected a time such as 30s, 5m or 1h.");
  return ms;
}

function terminalFor(program: Command): Terminal {
  const { json, project } = program.opts<{ json?: boolean; project?: string }>();
  return createTerminal({ json: json === true, project });
}

/** The words of the command that was meant, as far as they name one. */
function commandIn(program: Command, argv: readonly string[]): string {
  let command = program;
  const words = [program.name()];
  for (const word of argv) {
    const next = command.commands.find((one) => one.name() === word);
    if (next === undefined && command !== program) break;
    if (next === undefined) continue;
    command = next;
    words.push(word);
  }
  return words.join(" ");
}

function reportUsage(cx: Terminal, error: CommanderError, command: string): number {
  // Groups such as `aegis config` alone print their help, which is the answer.
  if (error.code === "commander.help") return exitCodes.usage;
  const [first = "", ...more] = error.message.split("\n");
  const hint = more
    .join(" ")
    .trim()
    .replace(/^\(|\)$/g, "");
  return report(cx, usageError(first.replace(/^error: /, ""), hint === "" ? `see ${command} --help` : hint));
}
