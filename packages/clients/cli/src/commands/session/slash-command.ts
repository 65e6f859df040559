/** Slash commands of plugins and prompt files, in a chat and in the texts of `run` and `send`. */
import type { Client } from "@aegis/client/client.ts";
import type { CommandOutcome, CommandView } from "@aegis/contract/command.ts";
import { chatCommandNames, typedCommand } from "@aegis/contract/command-names.ts";
import { usageError } from "../../program/failure.ts";

/** Runs the command that the text begins with. Null if it begins with none: then the text is a plain message. */
export async function runTyped(
  client: Client,
  text: string,
  session: string | undefined,
): Promise<CommandOutcome | null> {
  const typed = typedCommand(text);
  if (typed === null) return null;
  const { commands } = await client.call("listCommands");
  if (!commands.some((command) => namesOf(command).includes(typed.name))) {
    refuseChatCommand(typed.name);
    return null;
  }
  return client.call("runCommand", {
    path: { command: typed.name },
    body: { arguments: typed.arguments, ...(session === undefined ? {} : { session }) },
  });
}

/** Only a chat can carry it out; a model would read it as text. A message can name a skill with `/skill`. */
function refuseChatCommand(name: string): void {
  if (name === "skill" || !chatCommandNames.some((one) => one === name)) return;
  throw usageError(
    `/${name} is a command of aegis chat and of the terminal app; it was not sent`,
    name === "install" ? "install a skill with: aegis skill install <skill>" : "aegis --help lists the commands",
  );
}

/** The names under which the user can type it, shortest first. */
function namesOf({ name, plugin, status }: CommandView): string[] {
  const exact = plugin === null ? [] : [`${plugin}:${name}`];
  return status === "shadowed" ? exact : [name, ...exact];
}

/** The source of a command, in one or two words. */
export function sourceOf({ source, plugin }: Pick<CommandView, "source" | "plugin">): string {
  return source === "plugin" ? `plugin ${plugin}` : source;
}
