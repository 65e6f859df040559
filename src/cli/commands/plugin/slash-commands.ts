/** `aegis command list`: the slash commands of this project. */
import { tableOptions } from "../../format/columns.ts";
import { commandTable } from "../../format/command-table.ts";
import { pluginDiagnostic } from "../../format/plugin-table.ts";
import type { Handler } from "../../program/command.ts";
import type { slashCommandCommands } from "./spec.ts";

export const commandList: Handler<typeof slashCommandCommands.list> = async (cx) => {
  const answer = await cx.call("listCommands");
  const none = "No commands here. Create one in .aegis/commands/<name>.md";
  cx.show(answer, () => {
    cx.tell(answer.commands.length === 0 ? none : commandTable(answer.commands, tableOptions(cx)));
    for (const one of answer.diagnostics) cx.warn(pluginDiagnostic(one, cx.style));
  });
};
