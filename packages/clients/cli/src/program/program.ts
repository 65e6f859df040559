/** Builds the parser from the command table and runs the command that the arguments name. */

import { packageVersion } from "@aegis/lib/version.ts";
import { Command, CommanderError, Help, Option } from "commander";
import { oneLine } from "../format/text.ts";
import { exitCodes } from "../terminal/context.ts";
import { createTerminal, type Terminal } from "../terminal/terminal.ts";
import type { CommandSpec, OptionSpec, ParsedArguments } from "./command.ts";
import { inCommandWords } from "./command-words.ts";
import { usageError } from "./failure.ts";
import { report, runCommand } from "./run-command.ts";
import { shortHelp } from "./short-help.ts";
import { commandGroups, commands, home, resumed } from "./table.ts";

export async function runProgram(argv: readonly string[]): Promise<number> {
  const result = { code: exitCodes.ok as number };
  const program = createProgram(async (spec, parsed) => {
    result.code = await runCommand(terminalFor(program), async (cx) => {
      try {
        return await spec.run(cx, parsed);
      } catch (error) {
        throw inCommandWords(error, spec);
      }
    });
  });
  try {
    const { operands, unknown } = program.parseOptions([...argv]);
    if (operands.length === 0 && unknown.length === 0)
      return await runCommand(terminalFor(program), program.opts().resume === true ? resumed : home);
    if (operands.length === 2 && operands[0] === "help" && operands[1] === "all") {
      process.stdout.write(new Help().formatHelp(program, program.createHelp()));
      return exitCodes.ok;
    }
    // The parser would answer `aegis kil --help` with the help of all commands and exit with 0.
    const isUnknown = namesUnknown(program, operands);
    await program.parseAsync(isUnknown ? argv.filter((word) => !asksForHelp(word)) : [...argv], { from: "user" });
    return result.code;
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode === 0) return exitCodes.ok;
    return reportUsage(terminalFor(program), error, commandIn(program, argv));
  }
}

type Start = (spec: CommandSpec, parsed: ParsedArguments) => Promise<void>;

/** Creates the parser with every command; `run` receives the parsed values. */
function createProgram(run: Start): Command {
  const program = new Command("aegis")
    .description("Runs a team of AI agents on your machine and lets them work together.")
    .version(packageVersion(), "-V, --version", "print the version")
    .helpOption("-h, --help", "show this help")
    .option("-C, --project <dir>", "work in this folder instead of the current one")
    .option("--json", "print JSON, for scripts")
    .option("--resume", "start the daemon and show which workflow runs it resumed")
    .helpCommand("help [command]", "show help for a command; `all` lists every command")
    // `reportUsage` prints the message, so the parser must not print it too.
    .configureOutput({ outputError: () => {} })
    .configureHelp({
      showGlobalOptions: true,
      sortOptions: false,
      formatHelp: (command, helper) => (command.parent === null ? shortHelp() : new Help().formatHelp(command, helper)),
    })
    .exitOverride();
  for (const spec of commands) addCommand(program, spec, run);
  return program;
}

function addCommand(program: Command, spec: CommandSpec, run: Start): void {
  const words = spec.path.split(" ");
  const name = words.pop() ?? "";
  const command = groupFor(program, words).command(name);
  command.description(spec.summary);
  if (spec.group !== undefined && words.length === 0) command.helpGroup(spec.group);
  for (const argument of spec.arguments) command.argument(argument.synopsis, argument.description);
  const options = spec.options.map(createOption);
  for (const option of options) command.addOption(option);
  if (spec.open) command.allowUnknownOption().helpOption(false);
  const title = spec.examples.length === 1 ? "Example:" : "Examples:";
  if (spec.examples.length > 0)
    command.addHelpText("after", ["", title, ...spec.examples.map((line) => `  $ ${line}`)].join("\n"));
  if (spec.notes.length > 0) command.addHelpText("after", ["", ...spec.notes].join("\n"));
  command.action(async () => {
    // An open command passes unknown options to its target; without a target, `--help` is about the command itself.
    if (spec.open && isHelp(command.processedArgs[0])) command.help();
    const given = command.opts();
    const parsed = { arguments: command.processedArgs, options: options.map((one) => given[one.attributeName()]) };
    await run(spec, parsed);
  });
}

function isHelp(word: unknown): boolean {
  return word === "--help" || word === "-h";
}

function asksForHelp(word: string): boolean {
  return isHelp(word) || word === "help";
}

/** Whether the words name a command that does not exist. */
function namesUnknown(program: Command, words: readonly string[]): boolean {
  let command = program;
  for (const word of words) {
    if (command.commands.length === 0) return false;
    if (asksForHelp(word)) continue;
    const next = command.commands.find((one) => one.name() === word);
    if (next === undefined) return true;
    command = next;
  }
  return false;
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

function createOption({ flags, description, parse, hidden = false }: OptionSpec): Option {
  const option = new Option(flags, description).hideHelp(hidden);
  if (parse === undefined) return option;
  return option.argParser((text, before: unknown) => {
    try {
      return parse(text, before);
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      throw new CommanderError(exitCodes.usage, "aegis.value", `${option.long} ${oneLine(text)}: ${error.message}`);
    }
  });
}

function terminalFor(program: Command): Terminal {
  const { json, project } = program.opts<{ json?: boolean; project?: string }>();
  return createTerminal({ json: json === true, project });
}

/** The words that name a command, as far as they match one. */
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
  // A group such as `aegis config` without a subcommand prints its help.
  if (error.code === "commander.help") return exitCodes.usage;
  const [first = "", ...more] = error.message.split("\n");
  const hint = more
    .join(" ")
    .trim()
    .replace(/^\(|\)$/g, "");
  return report(cx, usageError(first.replace(/^error: /, ""), hint === "" ? `see ${command} --help` : hint));
}
