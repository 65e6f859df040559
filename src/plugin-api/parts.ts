/** Makes the smaller parts of a plugin: skills, agents, commands and reducers. */
import type { CallContext } from "./context.ts";
import { type Definition, define } from "./definition.ts";

export type SkillOptions = {
  name: string;
  /** When the skill helps: all an agent sees before it loads the rest. */
  description: string;
  /** The body, in Markdown. */
  content: string;
};
export type Skill = Definition<"skill"> & SkillOptions;

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

export function agent(options: AgentOptions): PluginAgent {
  requireTexts("agent", options, ["name", "description", "prompt"]);
  return { ...define("agent"), options };
}

export type CommandOptions = {
  /** What people type after the slash. */
  name: string;
  description: string;
  /** Shown behind the name, as in `<file> [line]`. */
  argumentHint?: string;
};
/** Gets what was typed behind the command. Gives the answer to show, or `{prompt}` to say to the agent. */
export type CommandHandler = (args: string, context: CommandContext) => unknown;
export type CommandContext = Omit<CallContext, "session" | "agent"> & {
  /** The session it was typed in, when there is one. */
  readonly session: CallContext["session"] | null;
  readonly agent: string | null;
};
export type Command = Definition<"command"> & { readonly options: CommandOptions; readonly handler: CommandHandler };

export function command(options: CommandOptions, handler: CommandHandler): Command {
  requireTexts("command", options, ["name", "description"]);
  if (!/^[a-z][a-z0-9_-]{0,63}$/.test(options.name))
    throw new TypeError(`${JSON.stringify(options.name)} is no name for a command: expected lower-case letters and -`);
  requireFunction("command", options.name, handler);
  return { ...define("command"), options, handler };
}

/** Gets the good replies of a group in the order they came. Gives text, or a value that JSON can hold. */
export type ReducerHandler = (replies: readonly { handle: string; text: string }[]) => unknown;
export type PluginReducer = Definition<"reducer"> & { readonly name: string; readonly handler: ReducerHandler };

export function reducer(name: string, handler: ReducerHandler): PluginReducer {
  if (typeof name !== "string" || !/^[a-z][a-z0-9_-]{0,63}$/.test(name))
    throw new TypeError(`${JSON.stringify(name)} is no name for a reducer: expected lower-case letters and _`);
  requireFunction("reducer", name, handler);
  return { ...define("reducer"), name, handler };
}

function requireTexts<Options extends object>(what: string, options: Options, keys: readonly (keyof Options)[]): void {
  if (typeof options !== "object" || options === null) throw new TypeError(`${what}() expects an object`);
  for (const key of keys) {
    const value = options[key];
    if (typeof value !== "string" || value.trim() === "")
      throw new TypeError(`${String(key)} of the ${what} should be text that is not empty`);
  }
}

function requireFunction(what: string, name: string, handler: unknown): void {
  if (typeof handler !== "function") throw new TypeError(`the ${what} "${name}" has no function`);
}
