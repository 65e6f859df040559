/** Errors for a plugin that could not be loaded or cannot answer. */
import { AegisError } from "@aegis/contract/errors.ts";
import type { SourcePlace, WireError, WorkerStart } from "../protocol.ts";
import { placeOf } from "../worker/place.ts";

/** `stuck`: it stopped answering. `memory`: it exceeded its memory limit. */
export type Death = { why: "exit" | "crash" | "stuck" | "memory" | "closed"; message: string; stack: string | null };

/** The plugin's worker ended before it answered the call. */
export class PluginGone extends AegisError {
  readonly death: Death;

  constructor(plugin: string, death: Death) {
    super("unavailable", `the plugin "${plugin}" stopped while it was working: ${death.message}`);
    this.death = death;
  }
}

/** The plugin's code could not be loaded; `file` is relative to its folder. */
export class PluginLoadError extends Error {
  override readonly name = "PluginLoadError";
  readonly file: string | null;
  readonly line: number | null;

  constructor(message: string, place: SourcePlace) {
    super(message);
    this.file = place.file;
    this.line = place.line;
  }
}

/** The code declared other parts than before. Calls address parts by index, so it must not be called. */
export class DeclarationsChanged extends Error {
  override readonly name = "DeclarationsChanged";
}

/** The death of a worker by an uncaught error, with the place in the plugin where it was thrown. */
export function crashOf(error: unknown, start: WorkerStart, outOfMemory: string): Death {
  const stack = error instanceof Error ? (error.stack ?? null) : null;
  if (error instanceof Error && "code" in error && error.code === "ERR_WORKER_OUT_OF_MEMORY")
    return { why: "memory", message: outOfMemory, stack };
  const said = error instanceof Error ? error.message : String(error);
  return { why: "crash", message: `it failed: ${placeText(placeOf(error, start))}${said}`, stack };
}

export function placeText({ file, line }: SourcePlace): string {
  return file === null ? "" : `${file}${line === null ? "" : `:${line}`}: `;
}

/** Omits the class name `Error`, which adds no information. */
export function wireMessage({ name, message }: WireError): string {
  const [first = ""] = message.split("\n", 1);
  return name === "Error" || first.startsWith(name) ? first : `${name}: ${first}`;
}
