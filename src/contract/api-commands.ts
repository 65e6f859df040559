/** The endpoints of slash commands. */
import { z } from "zod";
import { type Endpoint, none, storableText } from "./api-parts.ts";
import { commandDiagnosticSchema, commandOutcomeSchema, commandViewSchema } from "./command.ts";

export const commandEndpoints = {
  listCommands: {
    summary: "List the slash commands of plugins, the project and the user, and the problems of their pages",
    path: none,
    query: none,
    body: none,
    output: z.object({ commands: z.array(commandViewSchema), diagnostics: z.array(commandDiagnosticSchema) }),
  },
  runCommand: {
    summary: "Run a slash command; returns a text to show and a prompt to send to the agent",
    path: z.object({ command: z.string().describe("its name without the slash, or plugin:name") }),
    query: none,
    body: z.object({
      arguments: storableText.default("").describe("the text after the name"),
      session: z.string().optional().describe("id or handle of the session it was typed in"),
    }),
    output: commandOutcomeSchema,
  },
} satisfies Record<string, Endpoint>;
