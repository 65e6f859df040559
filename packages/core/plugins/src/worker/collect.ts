/** Collects what a plugin's modules define: their exports in definition order, then what `register` adds. */
import { createHash } from "node:crypto";
import type { HookDeclaration } from "@aegis/contract/hook.ts";
import type { PluginAPI } from "@aegis/plugin-api/api.ts";
import { channelNameProblem, type PluginChannel } from "@aegis/plugin-api/channel.ts";
import type { PluginContext } from "@aegis/plugin-api/context.ts";
import { definitionMark, isDefinition } from "@aegis/plugin-api/definition.ts";
import type { Hook } from "@aegis/plugin-api/hook.ts";
import type { Command, PluginAgent, PluginReducer, Skill } from "@aegis/plugin-api/parts.ts";
import { type Part, registrar } from "@aegis/plugin-api/register.ts";
import { defaultPermission, type Tool, toolNameProblem, undeclaredPermission } from "@aegis/plugin-api/tool.ts";
import { isWorkflow, type Workflow } from "@aegis/plugin-api/workflow.ts";
import type { Contributions, SourcePlace } from "../protocol.ts";
import { type InputSchema, inputSchema, workflowSchema } from "./schema.ts";

const defaultTimeoutMs = 30_000;
const defaultLongestText = 4_000;
const optionalAbilities = ["typing", "attach", "openThread", "acknowledge"] as const;

export class CollectedParts {
  readonly hooks = new Map<string, Hook>();
  readonly tools: { tool: Tool; check: InputSchema["check"] }[] = [];
  readonly workflows: Workflow[] = [];
  readonly commands: Command[] = [];
  readonly reducers: PluginReducer[] = [];
  readonly channels: PluginChannel[] = [];
  readonly contributions: Contributions = {
    hooks: [],
    tools: [],
    workflows: [],
    skills: [],
    agents: [],
    commands: [],
    reducers: [],
    channels: [],
    notes: [],
    faults: [],
  };
  #file: string | null = null;
  readonly #seen = new Set<unknown>();
  readonly #placeOf: (made: Error) => SourcePlace;

  constructor(placeOf: (made: Error) => SourcePlace) {
    this.#placeOf = placeOf;
  }

  /** Adds the exports of a module. `hash` identifies its text. */
  addModule(namespace: Readonly<Record<string, unknown>>, file: string, hash: string): void {
    this.#file = file;
    const exports = Object.entries(namespace).filter((entry): entry is [string, Part] => isPart(entry[1]));
    exports.sort(([, a], [, b]) => a.order - b.order);
    for (const [name, part] of exports) this.add(part, name === "default" ? null : name, hash);
    const known = exports.length > 0 || typeof namespace.register === "function";
    if (!known && !this.#seen.has(namespace))
      this.contributions.notes.push({
        level: "info",
        message: `${file} exports nothing that Aegis knows; a name that begins with _ is not loaded`,
      });
  }

  add(part: Part, exported: string | null, hash: string): void {
    if (this.#seen.has(part)) return;
    this.#seen.add(part);
    if (isWorkflow(part)) {
      this.#addWorkflow(part, hash);
      return;
    }
    switch (part[definitionMark]) {
      case "hook":
        this.#addHook(part as Hook, exported);
        break;
      case "tool":
        try {
          this.#addTool(part as Tool, exported);
        } catch (error) {
          this.#refuseTool((part as Tool).options.name ?? exported, error);
        }
        break;
      case "skill": {
        const { name, description, content } = part as Skill;
        this.contributions.skills.push({ name, description, content });
        break;
      }
      case "agent": {
        const { prompt, ...fields } = (part as PluginAgent).options;
        this.contributions.agents.push({ fields: JSON.parse(JSON.stringify(fields)), prompt });
        break;
      }
      case "command": {
        const { name, description, argumentHint = null } = (part as Command).options;
        this.#refuseTwice("command", name, this.contributions.commands);
        this.commands.push(part as Command);
        this.contributions.commands.push({ name, description, argumentHint });
        break;
      }
      case "reducer": {
        this.reducers.push(part as PluginReducer);
        this.contributions.reducers.push((part as PluginReducer).name);
        break;
      }
      case "channel":
        this.#addChannel(part as PluginChannel, exported);
    }
  }

  /** The argument of `register`. */
  api(context: PluginContext, hash: string): PluginAPI {
    return registrar(
      context,
      (part) => this.add(part, null, hash),
      (name, error) => this.#refuseTool(name, error),
    );
  }

  /** A bad tool disables only itself. */
  #refuseTool(name: string | null, error: unknown): void {
    const what = name === null ? "a tool" : `the tool ${JSON.stringify(name)}`;
    const place = error instanceof Error ? this.#placeOf(error) : { file: null, line: null };
    const message = `${what} is left out: ${error instanceof Error ? error.message : String(error)}`;
    this.contributions.faults.push({ message, file: place.file ?? this.#file, line: place.line });
  }

  #addHook(part: Hook, exported: string | null): void {
    const { event, options, handler } = part;
    const named = options.name ?? exported ?? (handler.name || event);
    let name = named;
    for (let count = 2; this.hooks.has(`${event} ${name}`); count++) {
      if (options.name !== undefined) throw new TypeError(`there are two hooks "${named}" for ${event}`);
      name = `${named}-${count}`;
    }
    this.hooks.set(`${event} ${name}`, part);
    const declaration: HookDeclaration = {
      event,
      name,
      priority: options.priority ?? 0,
      strict: options.strict ?? false,
      timeoutMs: options.timeout === undefined ? null : options.timeout * 1000,
      offersSkills: options.offersSkills ?? false,
    };
    this.contributions.hooks.push(declaration);
  }

  #addTool(part: Tool, exported: string | null): void {
    const { options } = part;
    const name = options.name ?? exported;
    if (name === null) throw new TypeError("a tool has no name: expected tool({ name, … }), or an export with a name");
    const problem = toolNameProblem(name);
    if (problem !== null) throw new TypeError(problem);
    this.#refuseTwice("tool", name, this.contributions.tools);
    const { schema, check } = inputSchema(name, options.input ?? options.parameters);
    if (options.permission === undefined)
      this.contributions.notes.push({ level: "warning", message: undeclaredPermission(name) });
    this.tools.push({ tool: part, check });
    this.contributions.tools.push({
      name,
      description: options.description,
      schema,
      checksInput: check !== null,
      permission: options.permission === "none" ? "read" : (options.permission ?? defaultPermission),
      timeoutMs: options.timeout === undefined ? defaultTimeoutMs : options.timeout * 1000,
      requiredAgent: options.required_agent ?? null,
      visibleTo: [...(options.visible_to ?? [])],
      readOnly: options.readOnly ?? false,
    });
  }

  #addChannel(part: PluginChannel, exported: string | null): void {
    const { options } = part;
    const name = options.name ?? exported;
    if (name === null) throw new TypeError("a channel has no name: expected channel({ name, … }), or a named export");
    const problem = channelNameProblem(name);
    if (problem !== null) throw new TypeError(problem);
    this.#refuseTwice("channel", name, this.contributions.channels);
    this.channels.push(part);
    this.contributions.channels.push({
      name,
      description: options.description,
      longestText: options.longestText ?? defaultLongestText,
      paceMs: (options.pace ?? 0) * 1000,
      abilities: optionalAbilities.filter((ability) => options[ability] !== undefined),
    });
  }

  #addWorkflow(part: Workflow, hash: string): void {
    const { name, description, input, body, config, made } = part;
    this.#refuseTwice("workflow", name, this.contributions.workflows, made);
    this.workflows.push(part);
    this.contributions.workflows.push({
      name,
      description,
      schema: workflowSchema(name, input),
      config: JSON.parse(JSON.stringify(config)),
      code: createHash("sha256").update(`${name}\n${body.toString()}\n${hash}`).digest("hex").slice(0, 16),
      place: this.#placeOf(made),
    });
  }

  #refuseTwice(kind: string, name: string, known: readonly { name: string }[], made?: Error): void {
    if (!known.some((one) => one.name === name)) return;
    const error = new TypeError(`there are two ${kind}s "${name}"`);
    // The author looks for the second definition, not for the place of this check.
    if (made?.stack !== undefined) error.stack = made.stack;
    throw error;
  }
}

function isPart(value: unknown): value is Part {
  return isDefinition(value) || isWorkflow(value);
}
