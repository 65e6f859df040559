/** Slash commands as tables and lines. */
import type { CommandOutcome, CommandView } from "@aegis/contract/command.ts";
import { sourceOf } from "../commands/session/slash-command.ts";
import type { Terminal } from "../terminal/terminal.ts";
import { type Look, table } from "./columns.ts";
import { oneLine, plainText } from "./text.ts";

export function commandTable(commands: readonly CommandView[], look: Look): string[] {
  const { style } = look;
  return table(look, ["COMMAND", "FROM", "STATUS", "ABOUT"], commands, (command) => [
    { text: synopsis(command), paint: style.cyan },
    sourceOf(command),
    { text: command.status, paint: command.status === "ready" ? style.green : style.yellow },
    oneLine(command.reason ?? command.description),
  ]);
}

/** Shows the output of a command. Returns true if it also has a prompt for the agent. */
export function showOutcome(
  cx: Pick<Terminal, "json" | "print" | "printJson" | "warn">,
  outcome: CommandOutcome,
): boolean {
  const { command, text, prompt } = outcome;
  if (prompt !== null) {
    if (text !== null) cx.warn(plainText(text));
    return true;
  }
  if (cx.json) cx.printJson(outcome);
  else if (text !== null) cx.print(plainText(text));
  else cx.warn(`/${command} is done`);
  return false;
}

export function synopsis({ name, argument_hint }: Pick<CommandView, "name" | "argument_hint">): string {
  return oneLine(`/${name}${argument_hint === null ? "" : ` ${argument_hint}`}`);
}
