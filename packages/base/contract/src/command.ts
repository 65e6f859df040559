/** A slash command, `/name arguments`, from a plugin or a Markdown page. */
import { z } from "zod";
import { pluginDiagnosticSchema } from "./plugin.ts";

export const commandSourceSchema = z.enum(["project", "user", "plugin"]);

export const commandViewSchema = z.object({
  name: z.string(),
  description: z.string(),
  /** Shown after the name, such as `<file> [line]`. */
  argument_hint: z.string().nullable(),
  source: commandSourceSchema,
  plugin: z.string().nullable(),
  /** The page that defines it; null for code. */
  file: z.string().nullable(),
  /** `shadowed`: another command uses the name. `untrusted`: the user has not trusted it. Neither is available. */
  status: z.enum(["ready", "shadowed", "untrusted"]),
  /** Why it is not ready. */
  reason: z.string().nullable(),
});
export type CommandView = z.infer<typeof commandViewSchema>;

export const commandDiagnosticSchema = pluginDiagnosticSchema;
export type CommandDiagnostic = z.infer<typeof commandDiagnosticSchema>;

/** The result of a command: a text to show, a prompt for the agent, or neither. */
export const commandOutcomeSchema = z.object({
  command: z.string(),
  text: z.string().nullable(),
  prompt: z.string().nullable(),
});
export type CommandOutcome = z.infer<typeof commandOutcomeSchema>;
