/** Makes the plugins: where they are looked for, how they are set, and where what they bring goes. */
import { homedir } from "node:os";
import { isAbsolute, join, resolve } from "node:path";
import { z } from "zod";
import type { NewEvent } from "../contract/event.ts";
import { errorText } from "../lib/log.ts";
import type { ReducerRegistry } from "../runtime/groups/reducers.ts";
import type { PluginWorkflow } from "../runtime/plugins/contribute.ts";
import { pluginPlaces } from "../runtime/plugins/generation.ts";
import { Stripper } from "../runtime/plugins/host/stripper.ts";
import { PluginLogs } from "../runtime/plugins/log.ts";
import { type PluginNews, Plugins } from "../runtime/plugins/plugins.ts";
import type { AgentRegistry } from "../runtime/registry/agents.ts";
import { CommandRegistry } from "../runtime/registry/commands.ts";
import type { HookRegistry } from "../runtime/registry/hooks.ts";
import type { ToolRegistry } from "../runtime/registry/tools.ts";
import { parsePluginSkill } from "../runtime/skills/plugin-skill.ts";
import type { Skills } from "../runtime/skills/skills.ts";
import type { RegisteredWorkflow, Workflows } from "../runtime/workflows/workflows.ts";
import type { BuildOptions } from "./build.ts";
import type { ProjectTrust } from "./build-trust.ts";
import { findPlace } from "./config/find-place.ts";

export type BuildPluginsOptions = Pick<
  BuildOptions,
  | "root"
  | "stateDir"
  | "store"
  | "clock"
  | "log"
  | "env"
  | "processes"
  | "settings"
  | "version"
  | "addSecret"
  | "redact"
> & {
  trust: Pick<ProjectTrust, "trust">;
  agents: AgentRegistry;
  tools: ToolRegistry;
  hooks: HookRegistry;
  workflows: Workflows;
  reducers: ReducerRegistry;
  skills: Skills;
};

export type PluginParts = { plugins: Plugins; commands: CommandRegistry };

/** A body in a worker answers over messages; on a busy machine they take their time. */
const replayGraceMs = 3_000;
const secondMs = 1_000;

export function buildPlugins(options: BuildPluginsOptions): PluginParts {
  const { root, stateDir, store, clock, log, env, settings, redact, workflows, trust } = options;
  const commands = new CommandRegistry();
  const config = () => settings().config;
  const plugins = new Plugins({
    ...options,
    projectRoot: root,
    dirs: () => pluginDirs(root, env.HOME ?? homedir(), config().plugin_dirs),
    settings: () => config().plugins,
    limits: () => {
      const { memory_mb: memoryMb, load_timeout, unresponsive_timeout } = config().plugins.limits;
      return { memoryMb, loadMs: load_timeout * secondMs, unresponsiveMs: unresponsive_timeout * secondMs };
    },
    values: (plugin) => pluginValues(config().plugins, plugin),
    valuePlace: (plugin, key) => findPlace(root, ["plugins", plugin, key]).catch(() => ({ file: null, line: null })),
    stripper: new Stripper(),
    logs: new PluginLogs({ dir: pluginPlaces(stateDir).logs, clock, redact }),
    mayRun: (plugin) => trust.trust.mayRun(plugin),
    restartRun: (run, reason) => {
      workflows
        .restart(run, reason)
        .catch((error: unknown) => log.error("a run could not be taken up again", { run, error: errorText(error) }));
    },
    record(news) {
      tell(news, log);
      store
        .transact((tx) => tx.events.append(eventOf(news), clock.now()))
        .catch((error: unknown) => log.warn("what became of a plugin is not on record", { error: errorText(error) }));
    },
    registries: {
      tools: options.tools,
      hooks: options.hooks,
      agents: options.agents,
      commands,
      addWorkflow: (workflow) => workflows.add(registered(workflow), `the plugin ${workflow.plugin}`),
      addReducer: (name, reducer) => options.reducers.add(name, reducer),
      addSkill: (skill) => options.skills.add(parsePluginSkill(skill)),
      offerSkills: (plugin) => options.skills.takeOver(`the plugin ${plugin}`),
    },
  });
  options.agents.refuseAlso((agent) => plugins.refusal(agent));
  return { plugins, commands };
}

/** The project's dirs as configured, then the user's own. */
function pluginDirs(root: string, home: string, dirs: readonly string[]): string[] {
  const named = dirs.map((dir) => (isAbsolute(dir) ? dir : resolve(root, dir.replace(/^~(?=\/|$)/, home))));
  return [...new Set([...named, join(home, ".aegis", "plugins")])];
}

function pluginValues(plugins: Readonly<Record<string, unknown>>, name: string): Readonly<Record<string, unknown>> {
  const values = plugins[name];
  return typeof values === "object" && values !== null && !Array.isArray(values) ? { ...values } : {};
}

function registered(workflow: PluginWorkflow): RegisteredWorkflow {
  const { name, description, schema, config, code } = workflow;
  const input = schema === null ? null : z.fromJSONSchema(schema as Parameters<typeof z.fromJSONSchema>[0]);
  return {
    kind: "workflow",
    name,
    description,
    // What zod cannot make an object of is checked by the worker alone.
    input: input === null ? null : input instanceof z.ZodObject ? input : z.looseObject({}),
    ...(schema === null ? {} : { schema }),
    config,
    body: (engine, args) => workflow.run(engine, args),
    remote: { code, graceMs: replayGraceMs },
  };
}

function eventOf({ type, ...data }: PluginNews): NewEvent {
  // The news are named and shaped like their events.
  return { type, session: null, data } as NewEvent;
}

function tell(news: PluginNews, log: BuildPluginsOptions["log"]): void {
  const { type, ...fields } = news;
  const words = type.replace("plugin.", "a plugin was ");
  if (type === "plugin.failed") log.error("a plugin failed", fields);
  else if (type === "plugin.restarting") log.warn("a plugin's worker ended and is started again", fields);
  else log.info(words, fields);
}
