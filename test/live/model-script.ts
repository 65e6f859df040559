import { existsSync } from "node:fs";

/**
 * What a fake model does with a prompt. The last of its texts decides, by the last line that starts with a command:
 * `TOOL <name> {json}` calls a tool, `HOLD` says one word and then nothing until the client leaves, `THINK <text>`
 * thinks first, `FAIL <status>` fails, `SILENT <path>` sends not a byte unless the file is there; anything else is repeated. After tools it says what they gave.
 */
export type Script =
  | { do: "say"; parts: string[] }
  | { do: "hold"; parts: string[] }
  | { do: "think"; thought: string; parts: string[] }
  | { do: "tool"; name: string; input: string }
  | { do: "fail"; status: number }
  | { do: "silent" };
/** What a model that answers does. */
export type Spoken = Exclude<Script, { do: "fail" | "silent" }>;

const commands = /^(TOOL|HOLD|THINK|FAIL|SILENT)\b/;

export function scriptFor(texts: readonly string[], results: readonly string[]): Script {
  if (results.length > 0) return { do: "say", parts: ["tool said: ", results.join(" | ")] };
  const rows = (texts.at(-1) ?? "").split("\n").map((row) => row.trim());
  const command = rows.findLast((row) => commands.test(row)) ?? "";
  const tool = /^TOOL (\S+) (\{.*\})$/.exec(command);
  if (tool !== null) return { do: "tool", name: tool[1] ?? "", input: tool[2] ?? "{}" };
  if (command.startsWith("HOLD")) return { do: "hold", parts: ["holding "] };
  if (command.startsWith("THINK")) return { do: "think", thought: `about ${command.slice(6)}`, parts: ["thought"] };
  if (command.startsWith("FAIL")) return { do: "fail", status: Number(command.slice(5)) };
  if (command.startsWith("SILENT") && !existsSync(command.slice(7))) return { do: "silent" };
  return { do: "say", parts: ["reply: ", rows.at(-1) ?? ""] };
}
