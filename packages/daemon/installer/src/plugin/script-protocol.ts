/** The line protocol between an install script's process and its installer. */
import { z } from "zod";

/** The first line to the process. */
export type ScriptStart = {
  /** Prefix of lines for the installer, so that the script's own output is not parsed. */
  mark: string;
  file: string;
  /** The targets of `import "aegis"`, and the cache of loaded modules. */
  loader: { root: string; api: { full: string; bare: string; testing: string }; cacheDir: string };
  /** The function that the file exports. */
  name: "install" | "uninstall";
  context: {
    reason: "install" | "update" | "uninstall";
    projectRoot: string;
    aegisDir: string;
    pluginDir: string;
    installedDir: string;
    pluginName: string;
    previousVersion: string | null;
    purge: boolean;
    manifest: Record<string, unknown>;
    config: Record<string, unknown>;
  };
};

const path = z.array(z.string().min(1)).min(1);
const entry = z.record(z.string(), z.unknown());
const name = z.string().min(1);

const callSchema = z.discriminatedUnion("method", [
  z.object({ method: z.literal("confirm"), question: z.string(), preset: z.boolean() }),
  z.object({ method: z.literal("addEntry"), section: z.enum(["agents", "queues"]), name, entry }),
  z.object({ method: z.literal("get"), path }),
  z.object({ method: z.literal("set"), path, value: z.unknown() }),
  z.object({ method: z.literal("remove"), path }),
  z.object({ method: z.literal("addSchedule"), name, entry }),
  z.object({ method: z.literal("removeSchedule"), name }),
  z.object({ method: z.literal("readFile"), path: name }),
  z.object({ method: z.literal("createFile"), path: name, text: z.string() }),
  z.object({ method: z.literal("removeFile"), path: name }),
]);
export type ScriptCall = z.infer<typeof callSchema>;

export const fromScriptSchema = z.discriminatedUnion("type", [
  z.object({ type: z.literal("call"), id: z.int(), call: callSchema }),
  z.object({ type: z.literal("print"), level: z.enum(["log", "warn"]), text: z.string() }),
  z.object({ type: z.literal("done") }),
  z.object({ type: z.literal("failed"), message: z.string() }),
]);
export type FromScript = z.infer<typeof fromScriptSchema>;

export type ToScript = { id: number; value: unknown } | { id: number; error: string };
