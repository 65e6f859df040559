/** The endpoints of slash commands. */
import { z } from "zod";
import { endpoint, storableText } from "./api-parts.ts";
import { commandDiagnosticSchema, commandOutcomeSchema, commandViewSchema } from "./command.ts";

export const commandEndpoints = {
  listCommands: endpoint(
    "List the slash commands of plugins, the project and the user, and the problems of their pages",
    { output: z.object({ commands: z.array(commandViewSchema), diagnostics: z.array(commandDiagnosticSchema) }) },
  ),
  runCommand: endpoint("Run a slash command; returns a text to show and a prompt to send to the agent", {
    path: z.object({ command: z.string().describe("its name without the slash, or plugin:name") }),
    body: z.object({
      arguments: storableText.default("").describe("the text after the name"),
      session: z.string().optional().describe("id or handle of the session it was typed in"),
    }),
    output: commandOutcomeSchema,
  }),
};
