/** A slash command: `/name arguments`, from a plugin or a page of Markdown. */
import { z } from "zod";
import { pluginDiagnosticSchema } from "./plugin.ts";

export const commandSourceSchema = z.enum(["project", "user", "plugin"]);

export const commandViewSchema = z.object({
  name: z.string(),
  description: z.string(),
  /** Shown behind the name, as in `<file> [line]`. */
  argument_hint: z.string().nullable(),
  source: commandSourceSchema,
  plugin: z.string().nullable(),
  /** The page it stands on; null for code. */
  file: z.string().nullable(),
  /** `shadowed`: another one has its name. `untrusted`: nobody has agreed to it. Neither answers to the name. */
  status: z.enum(["ready", "shadowed", "untrusted"]),
  /** Why it is not ready. */
  reason: z.string().nullable(),
});
export type CommandView = z.infer<typeof commandViewSchema>;

export const commandDiagnosticSchema = pluginDiagnosticSchema;
export type CommandDiagnostic = z.infer<typeof commandDiagnosticSchema>;

/** What came of a command: something to show, something to say to the agent, or neither. */
export const commandOutcomeSchema = z.object({
  command: z.string(),
  text: z.string().nullable(),
  prompt: z.string().nullable(),
});
export type CommandOutcome = z.infer<typeof commandOutcomeSchema>;
