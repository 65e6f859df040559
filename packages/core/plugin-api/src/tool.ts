/** Defines a tool that agents can call. */
import { didYouMean } from "@aegis/lib/nearest.ts";
import type { CallContext } from "./context.ts";
import { type Definition, define } from "./definition.ts";

/** A schema of any library that implements Standard Schema, such as zod. */
export type StandardSchema<Output = unknown> = {
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => StandardResult<Output> | Promise<StandardResult<Output>>;
    readonly types?: { readonly input: unknown; readonly output: Output } | undefined;
    readonly jsonSchema?: { readonly input: (options: { target: string }) => Record<string, unknown> };
  };
};

export type StandardResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly StandardIssue[] };

export type StandardIssue = {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
};

export type JsonSchema = Readonly<Record<string, unknown>>;

/** A value with `~standard` is a schema; any other object is a map. */
export type ToolInput = StandardSchema | JsonSchema;

export type ToolContext = CallContext & {
  /** An idempotency key: a repeated call has the same key. */
  readonly key: string;
};

export type ToolOptions<Input extends ToolInput = ToolInput> = {
  /** The name that agents use. Default: the name of the export. */
  name?: string;
  /** When and how to use the tool. Agents know nothing else about it. */
  description: string;
  /** A zod object or another Standard Schema, a JSON Schema, or a map of parameter names to JSON Schemas. */
  input?: Input;
  /** Same as `input`, under the name that Conduit uses. */
  parameters?: Input;
  /** The permission that an agent needs to have the tool. Default: `full`. */
  permission?: "none" | "read" | "write" | "full";
  /** In seconds. Default: 30. */
  timeout?: number;
  /** The only agent that may call it: an agent of this plugin or of no plugin, or `plugin:agent`. */
  required_agent?: string;
  /** The agents that see it. Default: every agent. */
  visible_to?: readonly string[];
  /** True if it has no side effects. */
  readOnly?: boolean;
};

export type InputOf<Input> = Input extends StandardSchema<infer Output> ? Output : Record<string, unknown>;

/** Returns text or a JSON value. */
export type ToolHandler<Input = Record<string, unknown>> = (input: Input, context: ToolContext) => unknown;

export type Tool = Definition<"tool"> & {
  readonly options: ToolOptions;
  readonly handler: ToolHandler<never>;
};

/**
 * Defines a tool that agents can call. Export the result from a module of a plugin; the tool has the name of the export
 * unless `name` is set. Throws `TypeError` if an option is unknown or invalid.
 *
 * @example
 * ```ts
 * import { tool, z } from "aegis";
 *
 * export const add = tool(
 *   { description: "Adds two numbers.", input: z.object({ a: z.number(), b: z.number() }), permission: "read" },
 *   ({ a, b }) => a + b,
 * );
 * ```
 */
export function tool<Input extends ToolInput = JsonSchema>(
  options: ToolOptions<Input>,
  handler: ToolHandler<InputOf<Input>>,
): Tool {
  checkOptions(options);
  if (typeof handler !== "function")
    throw new TypeError(`the tool "${options.name ?? ""}" has no function: expected tool({…}, async (input) => …)`);
  return { ...define("tool"), options, handler };
}

const optionNames: readonly string[] = [
  ...["name", "description", "input", "parameters", "permission", "timeout", "required_agent", "visible_to"],
  "readOnly",
];
const permissions: readonly string[] = ["none", "read", "write", "full"];
/** What a tool needs that declares nothing: its code can do everything that its user can. */
export const defaultPermission = "full";

export function undeclaredPermission(tool: string): string {
  return `the tool "${tool}" declares no permission, so only agents with the permission ${defaultPermission} have it; expected read, write or full`;
}

const namePattern = /^[A-Za-z][A-Za-z0-9_-]{0,63}$/;

/** Also called where tools are registered under the name of their export. */
export function toolNameProblem(name: string): string | null {
  return namePattern.test(name)
    ? null
    : `${JSON.stringify(name)} is not a valid tool name: expected letters, digits, - and _, starting with a letter`;
}

function checkOptions(options: ToolOptions): void {
  if (typeof options !== "object" || options === null)
    throw new TypeError("a tool needs options: expected tool({ description }, async (input) => …)");
  const wrong = (key: string, expected: string) =>
    new TypeError(`${key} of the tool "${options.name ?? ""}" should be ${expected}`);
  for (const key of Object.keys(options)) {
    if (!optionNames.includes(key))
      throw new TypeError(`the tool "${options.name ?? ""}" has no option "${key}"${didYouMean(key, optionNames)}`);
  }
  const { name, description, input, parameters, permission, timeout, required_agent, visible_to } = options;
  const problem = name === undefined ? null : toolNameProblem(name);
  if (problem !== null) throw new TypeError(problem);
  if (typeof description !== "string" || description.trim() === "")
    throw wrong("description", "a text that says when and how to use it");
  if (input !== undefined && parameters !== undefined) throw wrong("input", "given once, not as parameters too");
  const schema = input ?? parameters ?? {};
  if (typeof schema !== "object" || Array.isArray(schema)) throw wrong("input", "a zod object or a JSON Schema");
  if (permission !== undefined && !permissions.includes(permission)) throw wrong("permission", permissions.join(", "));
  if (timeout !== undefined && !(timeout > 0 && Number.isFinite(timeout)))
    throw wrong("timeout", "a number of seconds");
  if (required_agent !== undefined && typeof required_agent !== "string") throw wrong("required_agent", "a name");
  if (visible_to !== undefined && !Array.isArray(visible_to)) throw wrong("visible_to", "a list of agents' names");
}
