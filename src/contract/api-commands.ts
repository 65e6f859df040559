/** The endpoints of slash commands. */
import { z } from "zod";
import { type Endpoint, none, storableText } from "./api-parts.ts";
import { commandDiagnosticSchema, commandOutcomeSchema, commandViewSchema } from "./command.ts";

export const commandEndpoints = {
  listCommands: {
    summary: "The slash commands of plugins, the project and the user, and what is wrong with their pages",
    path: none,
    query: none,
    body: none,
    output: z.object({ commands: z.array(commandViewSchema), diagnostics: z.array(commandDiagnosticSchema) }),
  },
  runCommand: {
    summary: "Runs a slash command: gives what to show, and what to say to the agent as a message",
    path: z.object({ command: z.string().describe("its name without the slash, or plugin:name") }),
    query: none,
    body: z.object({
      arguments: storableText.default("").describe("what was typed behind the name"),
      session: z.string().optional().describe("the session it was typed in: id or handle"),
    }),
    output: commandOutcomeSchema,
  },
} satisfies Record<string, Endpoint>;
