/** Defines a workflow from a name, an input schema and a body. Errors point at the definition. */

import { workflowNameMaxLength, workflowNamePattern } from "@aegis/contract/workflow-names.ts";
import type { z } from "zod";
import { nextOrder } from "./definition.ts";
import type { WorkflowContext } from "./workflow-context.ts";

export type WorkflowOptions<Input extends z.ZodObject, Config> = {
  description?: string;
  /** The arguments, as a zod object. It validates input from the CLI, tools and HTTP. */
  input?: Input;
  /** Default values of `context.config`; `configure` overrides them. */
  config?: Config;
};

export type WorkflowBody<Args, Config> = (context: WorkflowContext<Config>, args: Args) => Promise<unknown>;

export type Workflow<Input extends z.ZodObject = z.ZodObject, Config = Record<string, unknown>> = {
  readonly kind: "workflow";
  /** The position among the definitions of its module. */
  readonly order: number;
  /** Its stack locates the definition, for errors that are found later. */
  readonly made: Error;
  readonly name: string;
  readonly description: string;
  /** Null if it takes no arguments. */
  readonly input: Input | null;
  /** A method, so that a workflow with any input and configuration is assignable to `Workflow`. */
  body(context: WorkflowContext<Config>, args: z.output<Input>): Promise<unknown>;
  readonly config: Readonly<Config>;
  /** Changes values of `context.config` for every run that starts or resumes from now on. */
  configure(values: Partial<Config>): Workflow<Input, Config>;
};

type None = Record<never, never>;

/**
 * Defines a workflow: a procedure whose steps are recorded, so that a run resumes where it stopped after a crash. Export
 * the result from a module of a plugin. Throws `TypeError` if the name is invalid or the body is not an async function.
 *
 * @example
 * ```ts
 * import { workflow, z } from "aegis";
 *
 * export const greet = workflow("greet", { input: z.object({ name: z.string() }) }, async (context, { name }) => {
 *   const session = await context.spawn("offline");
 *   return context.send(session, `Say hello to ${name}.`);
 * });
 * ```
 */
export function workflow(
  name: string,
  body: WorkflowBody<Record<string, never>, Record<string, unknown>>,
): Workflow<z.ZodObject<None>>;
export function workflow<Input extends z.ZodObject = z.ZodObject<None>, Config = Record<string, unknown>>(
  name: string,
  options: WorkflowOptions<Input, Config>,
  body: WorkflowBody<z.output<Input>, Config>,
): Workflow<Input, Config>;
export function workflow(
  name: string,
  second: WorkflowOptions<z.ZodObject, Record<string, unknown>> | WorkflowBody<never, never>,
  third?: WorkflowBody<never, never>,
): Workflow {
  const options = typeof second === "function" ? {} : second;
  const body = typeof second === "function" ? second : third;
  check(name, body);
  const config: Record<string, unknown> = { ...options.config };
  const made: Workflow = {
    kind: "workflow",
    order: nextOrder(),
    made: new Error("made here"),
    name,
    description: options.description ?? "",
    input: options.input ?? null,
    // The overloads tie the body to its input and configuration.
    body: body as unknown as Workflow["body"],
    config,
    configure(values) {
      Object.assign(config, values);
      return made;
    },
  };
  return made;
}

/**
 * Tells whether `workflow()` made a value, even from another copy of this package.
 *
 * @example
 * ```ts
 * import { isWorkflow, workflow } from "aegis";
 *
 * isWorkflow(workflow("greet", async (context) => context.name)); // true
 * isWorkflow({ name: "greet" }); // false
 * ```
 */
export function isWorkflow(value: unknown): value is Workflow {
  return typeof value === "object" && value !== null && "kind" in value && value.kind === "workflow" && "body" in value;
}

function check(name: unknown, body: unknown): void {
  if (typeof name !== "string" || name.length > workflowNameMaxLength || !workflowNamePattern.test(name)) {
    throw new TypeError(
      `${JSON.stringify(name)} is not a valid workflow name: expected lower-case words joined by _ or -`,
    );
  }
  if (typeof body !== "function") throw new TypeError(`workflow "${name}" has no body: expected an async function`);
  if (Object.prototype.toString.call(body) !== "[object AsyncFunction]") {
    throw new TypeError(`the body of workflow "${name}" is not async: expected async (context, args) => …`);
  }
  if (body.length < 1) {
    throw new TypeError(`the body of workflow "${name}" takes no parameter: expected async (context, args) => …`);
  }
}
