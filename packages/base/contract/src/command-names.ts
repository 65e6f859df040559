/** Names that are reserved for the chat itself. No other command can use them. */
export const chatCommandNames = [
  "help",
  "sessions",
  "switch",
  "spawn",
  "interrupt",
  "rename",
  "skill",
  "install",
  "title",
  "close",
  "ask",
  "answer",
  "history",
  "quit",
] as const;
export type ChatCommandName = (typeof chatCommandNames)[number];

export type TypedCommand = { name: string /** The text after the name. */; arguments: string };

/**
 * Returns the command at the start of a text, or null if there is none. A text that starts with two slashes is plain
 * text.
 */
export function typedCommand(text: string): TypedCommand | null {
  const [, name, rest = ""] = /^\s*\/([A-Za-z0-9][\w.:-]*)(?:\s+([\s\S]*))?$/.exec(text) ?? [];
  return name === undefined ? null : { name: name.toLowerCase(), arguments: rest.trim() };
}
