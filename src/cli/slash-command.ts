/** Slash commands of plugins and of pages, wherever a person types a message: in a chat, with `run` and with `send`. */
import type { Client } from "../client/client.ts";
import type { CommandOutcome, CommandView } from "../contract/command.ts";
import { typedCommand } from "../contract/command-names.ts";

/** Runs the command that a text begins with. Null when it begins with none: then it is a message as it is. */
export async function runTyped(
  client: Client,
  text: string,
  session: string | undefined,
): Promise<CommandOutcome | null> {
  const typed = typedCommand(text);
  if (typed === null) return null;
  const { commands } = await client.call("listCommands");
  if (!commands.some((command) => namesOf(command).includes(typed.name))) return null;
  return client.call("runCommand", {
    path: { command: typed.name },
    body: { arguments: typed.arguments, ...(session === undefined ? {} : { session }) },
  });
}

/** What can be typed to run it, shortest first. */
export function namesOf({ name, plugin, status }: CommandView): string[] {
  const exact = plugin === null ? [] : [`${plugin}:${name}`];
  return status === "shadowed" ? exact : [name, ...exact];
}

/** Whose it is, in a word or two. */
export function sourceOf({ source, plugin }: Pick<CommandView, "source" | "plugin">): string {
  return source === "plugin" ? `plugin ${plugin}` : source;
}
