/** Defines the smaller parts of a plugin: skills, agents, commands and reducers. */
import type { CallContext } from "./context.ts";
import { type Definition, define } from "./definition.ts";

export type SkillOptions = {
  name: string;
  /** When to use the skill. Agents see only this before they load it. */
  description: string;
  /** The body, in Markdown. */
  content: string;
};
export type Skill = Definition<"skill"> & SkillOptions;

/**
 * Defines a skill: a page of instructions that an agent loads when a task calls for it. Throws `TypeError` if a text is
 * missing.
 *
 * @example
 * ```ts
 * import { skill } from "aegis";
 *
 * export const releaseNotes = skill({
 *   name: "release-notes",
 *   description: "How to write the release notes of this project.",
 *   content: "Start with what users notice. One line for each change.",
 * });
 * ```
 */
export function skill(options: SkillOptions): Skill {
  requireTexts("skill", options, ["name", "description", "content"]);
  return { ...define("skill"), ...options };
}

/** The fields of an agent file, and its prompt. */
export type AgentOptions = {
  name: string;
  description: string;
  prompt: string;
  harness?: string;
  model?: string;
  temperature?: number;
  reasoning_effort?: "low" | "medium" | "high";
  permission?: "read" | "write" | "full" | "auto";
  tools?: readonly string[] | "none";
  deny_tools?: readonly string[];
  skills?: readonly string[];
  max_turns?: number;
  subagents?: Readonly<Record<string, unknown>>;
};
export type PluginAgent = Definition<"agent"> & { readonly options: AgentOptions };

/**
 * Defines an agent that comes with the plugin. Throws `TypeError` if a text is missing.
 *
 * @example
 * ```ts
 * import { agent } from "aegis";
 *
 * export const reviewer = agent({
 *   name: "reviewer",
 *   description: "Reads changes and reports defects.",
 *   prompt: "Review the change you are given. Report defects only.",
 *   permission: "read",
 * });
 * ```
 */
export function agent(options: AgentOptions): PluginAgent {
  requireTexts("agent", options, ["name", "description", "prompt"]);
  return { ...define("agent"), options };
}

export type CommandOptions = {
  /** The name that people type after the slash. */
  name: string;
  description: string;
  /** Shown after the name, such as `<file> [line]`. */
  argumentHint?: string;
};
/** Receives the text after the command. Returns the answer to show, or `{prompt}` to send to the agent. */
export type CommandHandler = (args: string, context: CommandContext) => unknown;
export type CommandContext = Omit<CallContext, "session" | "agent"> & {
  /** The session in which it was typed, if any. */
  readonly session: CallContext["session"] | null;
  readonly agent: string | null;
};
export type Command = Definition<"command"> & { readonly options: CommandOptions; readonly handler: CommandHandler };

/**
 * Defines a slash command. The handler returns the answer to show, or `{ prompt }` to send text to the agent. Throws
 * `TypeError` for a name that cannot be typed.
 *
 * @example
 * ```ts
 * import { command } from "aegis";
 *
 * export const hello = command({ name: "hello", description: "Greets a person." }, (args) => `Hello, ${args}!`);
 * ```
 */
export function command(options: CommandOptions, handler: CommandHandler): Command {
  requireTexts("command", options, ["name", "description"]);
  if (!/^[a-z][a-z0-9_-]{0,63}$/.test(options.name))
    throw new TypeError(
      `${JSON.stringify(options.name)} is not a valid command name: expected lower-case letters and -`,
    );
  requireFunction("command", options.name, handler);
  return { ...define("command"), options, handler };
}

/** Receives the successful replies of a group in order of arrival. Returns text or a JSON value. */
export type ReducerHandler = (replies: readonly { handle: string; text: string }[]) => unknown;
export type PluginReducer = Definition<"reducer"> & { readonly name: string; readonly handler: ReducerHandler };

/**
 * Defines a reducer: a function that combines the replies of a group into one result. A broadcast names it to use it.
 *
 * @example
 * ```ts
 * import { reducer } from "aegis";
 *
 * export const longest = reducer("longest", (replies) =>
 *   replies.map(({ text }) => text).reduce((best, text) => (text.length > best.length ? text : best), ""),
 * );
 * ```
 */
export function reducer(name: string, handler: ReducerHandler): PluginReducer {
  if (typeof name !== "string" || !/^[a-z][a-z0-9_-]{0,63}$/.test(name))
    throw new TypeError(`${JSON.stringify(name)} is not a valid reducer name: expected lower-case letters and _`);
  requireFunction("reducer", name, handler);
  return { ...define("reducer"), name, handler };
}

function requireTexts<Options extends object>(what: string, options: Options, keys: readonly (keyof Options)[]): void {
  if (typeof options !== "object" || options === null) throw new TypeError(`${what}() expects an object`);
  for (const key of keys) {
    const value = options[key];
    if (typeof value !== "string" || value.trim() === "")
      throw new TypeError(`${String(key)} of the ${what} should be a non-empty string`);
  }
}

function requireFunction(what: string, name: string, handler: unknown): void {
  if (typeof handler !== "function") throw new TypeError(`the ${what} "${name}" has no function`);
}
