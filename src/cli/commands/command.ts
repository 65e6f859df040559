/** `aegis command list`: the slash commands of this project. */
import { ensureDaemon } from "../connection.ts";
import { exitCodes } from "../context.ts";
import { commandTable } from "../format/command-table.ts";
import { pluginDiagnostic } from "../format/plugin-table.ts";
import { createStyle } from "../format/style.ts";
import type { Terminal } from "../terminal.ts";

export async function commandList(cx: Terminal): Promise<number> {
  const { client } = await ensureDaemon(cx);
  const answer = await client.call("listCommands");
  if (cx.json) {
    cx.printJson(answer);
    return exitCodes.ok;
  }
  if (answer.commands.length === 0) cx.print("No commands here. Write one into .aegis/commands/<name>.md");
  else for (const line of commandTable(answer.commands, { color: cx.color, width: cx.columns })) cx.print(line);
  for (const one of answer.diagnostics) cx.warn(pluginDiagnostic(one, createStyle(cx.color)));
  return exitCodes.ok;
}
