/** Makes a hook: a function that watches or changes what happens. */
import { type HookContexts, type HookEvent, type HookResults, hookEvents } from "../contract/hook.ts";
import { didYouMean } from "../lib/nearest.ts";
import type { PluginContext } from "./context.ts";
import { type Definition, define } from "./definition.ts";

export type HookOptions = {
  /** Names it in records; the export's name when absent. */
  name?: string;
  /** Lower runs earlier; 0 when absent. */
  priority?: number;
  /** A failure or a timeout of it blocks; `pre_turn` and `pre_spawn` only, gates always do. */
  strict?: boolean;
  /** Seconds; `hooks.timeout` of the project when absent. */
  timeout?: number;
  /** `pre_turn` only: it tells agents of the skills, which it finds in its context, and Aegis itself no longer does. */
  offersSkills?: boolean;
};

export type HookCall = PluginContext & {
  /** Aborts when its time is over. */
  readonly signal: AbortSignal;
};

/** Null and nothing keep things as they are. */
export type HookHandler<E extends HookEvent> = (
  context: HookContexts[E],
  plugin: HookCall,
) => Given<E> | void | Promise<Given<E>> | Promise<void>;

type Given<E extends HookEvent> = HookResults[E] | null | undefined;

export type Hook<E extends HookEvent = HookEvent> = Definition<"hook"> & {
  readonly event: E;
  readonly options: HookOptions;
  readonly handler: HookHandler<E>;
};

export function hook<E extends HookEvent>(event: E, handler: HookHandler<E>): Hook<E>;
export function hook<E extends HookEvent>(event: E, options: HookOptions, handler: HookHandler<E>): Hook<E>;
export function hook<E extends HookEvent>(
  event: E,
  second: HookOptions | HookHandler<E>,
  third?: HookHandler<E>,
): Hook<E> {
  const options = typeof second === "function" ? {} : second;
  const handler = typeof second === "function" ? second : third;
  if (!hookEvents.includes(event))
    throw new TypeError(`no hook event ${JSON.stringify(event)}${didYouMean(String(event), hookEvents)}`);
  if (typeof handler !== "function")
    throw new TypeError(`the hook for ${event} has no function: expected hook("${event}", async (context) => …)`);
  checkOptions(event, options);
  return { ...define("hook"), event, options, handler };
}

const optionNames: readonly string[] = [
  "name",
  "priority",
  "strict",
  "timeout",
  "offersSkills",
] satisfies (keyof HookOptions)[];

function checkOptions(event: HookEvent, options: HookOptions): void {
  const wrong = (name: string, expected: string) =>
    new TypeError(`${name} of the hook for ${event} should be ${expected}`);
  if (typeof options !== "object" || options === null) throw wrong("the options", "an object");
  for (const name of Object.keys(options)) {
    if (!optionNames.includes(name))
      throw new TypeError(`the hook for ${event} has no option "${name}"${didYouMean(name, optionNames)}`);
  }
  const { name, priority, strict, timeout, offersSkills } = options;
  if (name !== undefined && (typeof name !== "string" || name === "")) throw wrong("name", "text");
  if (priority !== undefined && !Number.isFinite(priority)) throw wrong("priority", "a number");
  if (strict !== undefined && typeof strict !== "boolean") throw wrong("strict", "true or false");
  if (offersSkills !== undefined && (typeof offersSkills !== "boolean" || event !== "pre_turn"))
    throw wrong("offersSkills", "true or false, and for pre_turn only");
  if (timeout !== undefined && !(timeout > 0 && Number.isFinite(timeout)))
    throw wrong("timeout", "a number of seconds");
}
