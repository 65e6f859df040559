/** What the settings say about the confinement of an agent and of a project's programs. */
import { z } from "zod";

export const sandboxLevelSchema = z.enum(["off", "workspace", "strict"]);
/** `off` confines nothing; `workspace` hides credentials and other projects; `strict` also hides the home folder. */
export type SandboxLevel = z.infer<typeof sandboxLevelSchema>;

const texts = z.array(z.string().min(1, { error: "expected some text" }));

/** What a confined program reaches in addition. Paths are relative to the project; `~` is the home folder. */
export const sandboxAllowSchema = z.strictObject({
  write: texts.default([]),
  read: texts.default([]),
  hosts: texts.default([]),
});
export type SandboxAllow = z.infer<typeof sandboxAllowSchema>;

/** The settings of one agent; null leaves the choice to the project. */
export const sandboxSettingsSchema = z.object({
  sandbox: sandboxLevelSchema.nullable(),
  allow: sandboxAllowSchema.nullable(),
});
export type SandboxSettings = z.infer<typeof sandboxSettingsSchema>;

export const unsaidSandbox: SandboxSettings = { sandbox: null, allow: null };
