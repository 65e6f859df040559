/** Builds the plugins: their folders, their settings and the tables for their contributions. */
import { join } from "node:path";
import type { AgentTable } from "@aegis/agents/agent-table.ts";
import type { PluginChannels } from "@aegis/channels/plugin-channels.ts";
import type { NewEvent } from "@aegis/contract/event.ts";
import type { ReducerTable } from "@aegis/delegation/groups/reducers.ts";
import type { HookTable } from "@aegis/hooks/hook-table.ts";
import { homeOf } from "@aegis/lib/home.ts";
import { errorText } from "@aegis/lib/log.ts";
import type { PluginWorkflow } from "@aegis/plugins/contribute.ts";
import { DeclaredParts } from "@aegis/plugins/declared.ts";
import type { GateNews } from "@aegis/plugins/gates/enforcer.ts";
import { pluginPlaces } from "@aegis/plugins/generation.ts";
import { StartQueue } from "@aegis/plugins/host/start-queue.ts";
import { Stripper } from "@aegis/plugins/host/stripper.ts";
import { PluginLogs } from "@aegis/plugins/log.ts";
import { findPluginSkills, parsePluginSkill } from "@aegis/plugins/plugin-skill.ts";
import { loadedAtOnce, type PluginNews, Plugins } from "@aegis/plugins/plugins.ts";
import { findPlace } from "@aegis/project/config/find-place.ts";
import { pluginDirs, pluginValues } from "@aegis/project/plugins/dirs.ts";
import { buildGates } from "@aegis/project/plugins/gate-store.ts";
import type { ConsentCheck } from "@aegis/project/trust/judge.ts";
import type { ToolTable } from "@aegis/sessions/tools/tools.ts";
import { CommandTable } from "@aegis/skills/commands/command-table.ts";
import type { Skills } from "@aegis/skills/skills.ts";
import type { RegisteredWorkflow, Workflows } from "@aegis/workflows/workflows.ts";
import { z } from "zod";
import type { Confine } from "./build-confinement.ts";
import type { BuildOptions } from "./build-options.ts";

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
  judge: ConsentCheck;
  agents: AgentTable;
  tools: ToolTable;
  hooks: HookTable;
  workflows: Workflows;
  reducers: ReducerTable;
  pluginChannels: PluginChannels;
  skills: Skills;
  confine: Confine;
};

export type PluginParts = { plugins: Plugins; commands: CommandTable };

/** A workflow body in a worker answers over messages, which can be slow on a busy machine. */
const replayGraceMs = 3_000;
const secondMs = 1_000;

export function buildPlugins(options: BuildPluginsOptions): PluginParts {
  const { root, stateDir, store, clock, log, env, processes, settings, version, addSecret, redact } = options;
  const { workflows, judge } = options;
  const commands = new CommandTable();
  const config = () => settings().config;
  const record = (news: PluginNews | GateNews) => {
    tell(news, log);
    store
      .transact((tx) => tx.events.append(eventOf(news), clock.now()))
      .catch((error: unknown) => log.warn("the status of a plugin could not be stored", { error: errorText(error) }));
  };
  const plugins = new Plugins({
    projectRoot: root,
    stateDir,
    env,
    processes,
    version,
    log,
    redact,
    addSecret,
    confine: (session, own) => options.confine({ session, folder: root, own }),
    cacheDir: join(homeOf(env), ".aegis", "cache", "plugins"),
    dirs: () => pluginDirs(root, homeOf(env), config().plugin_dirs),
    settings: () => config().plugins,
    limits: () => {
      const { memory_mb: memoryMb, load_timeout, unresponsive_timeout } = config().plugins.limits;
      return { memoryMb, loadMs: load_timeout * secondMs, unresponsiveMs: unresponsive_timeout * secondMs };
    },
    values: (plugin) => pluginValues(config().plugins, plugin),
    valuePlace: (plugin, key) => findPlace(root, ["plugins", plugin, key]).catch(() => ({ file: null, line: null })),
    stripper: new Stripper(),
    starts: new StartQueue(loadedAtOnce),
    declared: new DeclaredParts({ dir: join(homeOf(env), ".aegis", "cache", "declared"), log }),
    logs: new PluginLogs({ dir: pluginPlaces(stateDir).logs, clock, redact }),
    mayRun: (plugin) => judge.pluginVerdict(plugin),
    consent: (plugin) => judge.plugin(plugin),
    findSkills: findPluginSkills,
    restartRun: (run, reason) => {
      workflows
        .restart(run, reason)
        .catch((error: unknown) => log.error("a run could not be resumed", { run, error: errorText(error) }));
    },
    gates: buildGates({ root, env, hooks: options.hooks, record, log }),
    record,
    tables: {
      tools: options.tools,
      hooks: options.hooks,
      agents: options.agents,
      commands,
      addWorkflow: (workflow) => workflows.add(registered(workflow), `the plugin ${workflow.plugin}`),
      addReducer: (name, reducer) => options.reducers.add(name, reducer),
      addChannel: (channel) => options.pluginChannels.add(channel),
      addSkill: (skill) => options.skills.add(parsePluginSkill(skill)),
      offerSkills: (plugin) => options.skills.takeOver(`the plugin ${plugin}`),
    },
  });
  options.agents.refuseWhile(plugins.known, (agent) => plugins.refusal(agent));
  return { plugins, commands };
}

function registered(workflow: PluginWorkflow): RegisteredWorkflow {
  const { name, description, schema, config, code } = workflow;
  const input = schema === null ? null : z.fromJSONSchema(schema as Parameters<typeof z.fromJSONSchema>[0]);
  return {
    kind: "workflow",
    name,
    plugin: workflow.plugin,
    description,
    // Only the worker checks a schema that zod cannot convert to an object.
    input: input === null ? null : input instanceof z.ZodObject ? input : z.looseObject({}),
    ...(schema === null ? {} : { schema }),
    config,
    body: (context, args) => workflow.run(context, args),
    remote: { code, graceMs: replayGraceMs },
  };
}

function eventOf({ type, ...data }: PluginNews | GateNews): NewEvent {
  // News items have the same names and shapes as their events.
  return { type, session: null, data } as NewEvent;
}

function tell(news: PluginNews | GateNews, log: BuildPluginsOptions["log"]): void {
  const { type, ...fields } = news;
  const words = type.replace("plugin.", "a plugin was ");
  if (type === "plugin.failed") log.error("a plugin failed", fields);
  else if (type === "plugin.gates_missing") log.error("gates are missing; what they guard is refused", fields);
  else if (type === "plugin.gates_held") log.info("no gate of a plugin is missing any more", fields);
  else if (type === "plugin.restarting") log.warn("a plugin's worker stopped and is restarted", fields);
  else log.info(words, fields);
}
