/** Why a plugin could not be loaded, or is not there to answer. */
import { AegisError } from "../../../contract/errors.ts";
import type { Place, WireError, WorkerStart } from "../protocol.ts";
import { placeOf } from "../worker/place.ts";

/** `stuck`: it did not answer any more. `memory`: it used more than it may. */
export type Death = { why: "exit" | "crash" | "stuck" | "memory" | "closed"; message: string; stack: string | null };

/** A call that was under way, or came too late, when the plugin's worker ended. */
export class PluginGone extends AegisError {
  readonly death: Death;

  constructor(plugin: string, death: Death) {
    super("unavailable", `the plugin "${plugin}" stopped while it was at work: ${death.message}`);
    this.death = death;
  }
}

/** The plugin's own code could not be loaded; `file` is relative to its folder. */
export class PluginLoadError extends Error {
  override readonly name = "PluginLoadError";
  readonly file: string | null;
  readonly line: number | null;

  constructor(message: string, place: Place) {
    super(message);
    this.file = place.file;
    this.line = place.line;
  }
}

/** The death of a worker by an error that nobody caught, with where in the plugin it arose. */
export function crashOf(error: unknown, start: WorkerStart, outOfMemory: string): Death {
  const stack = error instanceof Error ? (error.stack ?? null) : null;
  if (error instanceof Error && "code" in error && error.code === "ERR_WORKER_OUT_OF_MEMORY")
    return { why: "memory", message: outOfMemory, stack };
  const said = error instanceof Error ? error.message : String(error);
  return { why: "crash", message: `it failed: ${placeText(placeOf(error, start))}${said}`, stack };
}

export function placeText({ file, line }: Place): string {
  return file === null ? "" : `${file}${line === null ? "" : `:${line}`}: `;
}

/** Without the kind where it says nothing: most errors are just errors. */
export function wireMessage({ name, message }: WireError): string {
  const [first = ""] = message.split("\n", 1);
  return name === "Error" || first.startsWith(name) ? first : `${name}: ${first}`;
}
