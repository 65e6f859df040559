/** Makes a workflow from a name, what it takes and a body. Mistakes are told where they are made. */
import type { z } from "zod";
import { workflowNameMaxLength, workflowNamePattern } from "../contract/workflow-names.ts";
import { nextOrder } from "./definition.ts";
import type { Engine } from "./engine.ts";

export type WorkflowOptions<Input extends z.ZodObject, Config> = {
  description?: string;
  /** What it takes: a zod object. Command line, tools and HTTP are all checked by it. */
  input?: Input;
  /** Values of `engine.config` until `configure` gives others. */
  config?: Config;
};

export type WorkflowBody<Args, Config> = (engine: Engine<Config>, args: Args) => Promise<unknown>;

export type Workflow<Input extends z.ZodObject = z.ZodObject, Config = Record<string, unknown>> = {
  readonly kind: "workflow";
  /** The place among what its module defines. */
  readonly order: number;
  /** Its stack says where it was made, for what is wrong with it later. */
  readonly made: Error;
  readonly name: string;
  readonly description: string;
  /** Null when it takes nothing. */
  readonly input: Input | null;
  /** A method, so that a workflow of any input and configuration is a `Workflow`. */
  body(engine: Engine<Config>, args: z.output<Input>): Promise<unknown>;
  readonly config: Readonly<Config>;
  /** Changes values of `engine.config` for every run started or taken up from now on. */
  configure(values: Partial<Config>): Workflow<Input, Config>;
};

type None = Record<never, never>;

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

export function isWorkflow(value: unknown): value is Workflow {
  return typeof value === "object" && value !== null && "kind" in value && value.kind === "workflow" && "body" in value;
}

function check(name: unknown, body: unknown): void {
  if (typeof name !== "string" || name.length > workflowNameMaxLength || !workflowNamePattern.test(name)) {
    throw new TypeError(
      `${JSON.stringify(name)} is no name for a workflow: expected lower-case words joined by _ or -`,
    );
  }
  if (typeof body !== "function") throw new TypeError(`workflow "${name}" has no body: expected an async function`);
  if (Object.prototype.toString.call(body) !== "[object AsyncFunction]") {
    throw new TypeError(`the body of workflow "${name}" is not async: expected async (engine, args) => …`);
  }
  if (body.length < 1) {
    throw new TypeError(`the body of workflow "${name}" takes no parameter: expected async (engine, args) => …`);
  }
}
