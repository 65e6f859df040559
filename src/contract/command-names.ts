/** Names that a chat keeps for itself: nobody else's command can have them. */
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
  "answer",
  "history",
  "quit",
] as const;
export type ChatCommandName = (typeof chatCommandNames)[number];

export type TypedCommand = { name: string /** What followed it. */; arguments: string };

/** The command that a text begins with; null when it does not look like one. Two slashes begin with a plain one. */
export function typedCommand(text: string): TypedCommand | null {
  const [, name, rest = ""] = /^\s*\/([A-Za-z0-9][\w.:-]*)(?:\s+([\s\S]*))?$/.exec(text) ?? [];
  return name === undefined ? null : { name: name.toLowerCase(), arguments: rest.trim() };
}
