/** Defines a hook: a function that observes or changes what happens. */
import { type HookContexts, type HookEvent, type HookResults, hookEvents } from "@aegis/contract/hook.ts";
import { didYouMean } from "@aegis/lib/nearest.ts";
import type { PluginContext } from "./context.ts";
import { type Definition, define } from "./definition.ts";

export type HookOptions = {
  /** The name in records. Default: the name of the export. */
  name?: string;
  /** Lower values run first. Default: 0. */
  priority?: number;
  /** A failure or timeout blocks the action. Only for `pre_turn` and `pre_spawn`; gates always block. */
  strict?: boolean;
  /** In seconds. Default: the project's `hooks.timeout`. */
  timeout?: number;
  /** `pre_turn` only: this hook tells agents about the skills in its context, and Aegis does not. */
  offersSkills?: boolean;
};

export type HookCall = PluginContext & {
  /** Aborts when the hook times out. */
  readonly signal: AbortSignal;
};

/** A handler that returns null or nothing changes nothing. */
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

/**
 * Defines a hook: a function that observes or changes what happens at one event. Export the result from a module of a
 * plugin. A handler that returns null or nothing changes nothing. Throws `TypeError` for an unknown event or
 * option.
 *
 * @example
 * ```ts
 * import { hook } from "aegis";
 *
 * export const noForcePush = hook("pre_tool_use", async ({ tool, input }) => {
 *   if (tool === "bash" && JSON.stringify(input).includes("push --force"))
 *     return { decision: "deny", reason: "Force pushes are not allowed here." };
 *   return null;
 * });
 * ```
 */
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
