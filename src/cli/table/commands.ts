/** Commands about slash commands. */
import type { CommandSpec } from "../spec.ts";

export const slashCommandCommands: readonly CommandSpec[] = [
  {
    path: "command list",
    summary: "List the slash commands of plugins, this project and your own, and what is wrong with their pages",
    examples: ["aegis command list", 'aegis run "/review src/main.ts"'],
    run: async (cx) => (await import("../commands/command.ts")).commandList(cx),
  },
];
