/**
 * Loads a plugin as the daemon does and unloads it again, to check its settings, modules, tools, schemas and names.
 * The plugin's contributions go into temporary tables.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { AgentTable } from "@aegis/agents/agent-table.ts";
import { catalog } from "@aegis/builtin-workflows/catalog.ts";
import { AegisError } from "@aegis/contract/errors.ts";
import type { PluginDiagnostic, TakenNames } from "@aegis/contract/plugin.ts";
import { isReservedTool } from "@aegis/contract/tool-names.ts";
import { ReducerTable } from "@aegis/delegation/groups/reducers.ts";
import { HookTable } from "@aegis/hooks/hook-table.ts";
import type { Environment } from "@aegis/lib/child-env.ts";
import { systemClock } from "@aegis/lib/clock.ts";
import type { Consent } from "@aegis/lib/consent.ts";
import { silentLogger } from "@aegis/lib/log.ts";
import { OverflowFiles } from "@aegis/lib/overflow.ts";
import { createProcesses } from "@aegis/lib/process.ts";
import { resolveConfig } from "@aegis/plugins/config.ts";
import type { PluginTables, Undo } from "@aegis/plugins/contribute.ts";
import { type FoundPlugin, findPlugins } from "@aegis/plugins/find.ts";
import { Generation } from "@aegis/plugins/generation.ts";
import { defaultWorkerLimits } from "@aegis/plugins/host/worker.ts";
import { findPluginSkills } from "@aegis/plugins/plugin-skill.ts";
import { faultOf } from "@aegis/plugins/prepare.ts";
import { jsonInput } from "@aegis/sessions/tools/tool-input.ts";
import { type ToolGuard, ToolTable } from "@aegis/sessions/tools/tools.ts";
import { CommandTable } from "@aegis/skills/commands/command-table.ts";

export type TrialOptions = {
  projectRoot: string;
  env: Environment;
  /** The plugin's settings in the project. */
  values: Readonly<Record<string, unknown>>;
  /** Fail the trial if settings are missing or invalid, because the plugin could not load in a project. */
  needsSettings: boolean;
  taken: readonly TakenNames[];
  consent: () => Promise<Consent>;
};

/** `failed`: the daemon would refuse the whole plugin. Otherwise an error means that the daemon would skip a part. */
export type Trial = { failed: boolean; diagnostics: PluginDiagnostic[] };

export async function tryPlugin(found: FoundPlugin, options: TrialOptions): Promise<Trial> {
  const { manifest } = found;
  if (manifest === null) return { failed: true, diagnostics: [] };
  const { projectRoot, env, consent } = options;
  const config = resolveConfig(manifest, options.values, env);
  const notes = config.problems.map(({ level: said, key, message }): PluginDiagnostic => {
    const level = said === "error" && !options.needsSettings ? "warning" : said;
    return { level, file: null, line: null, message: `plugins.${manifest.name}.${key}: ${message}` };
  });
  if (notes.some(({ level }) => level === "error")) return { failed: true, diagnostics: notes };
  const folder = await mkdtemp(join(tmpdir(), "aegis-trial-"));
  const ledgerFile = join(folder, "processes.jsonl");
  const processes = createProcesses({ ledgerFile, owner: folder, clock: systemClock, log: silentLogger });
  let generation: Generation | null = null;
  try {
    generation = await Generation.load({
      found,
      manifest,
      config,
      notes,
      projectRoot,
      env,
      processes,
      confine: async () => processes,
      consent,
      order: 0,
      dataDir: join(folder, "data"),
      cacheDir: join(folder, "cache"),
      findSkills: findPluginSkills,
      limits: defaultWorkerLimits,
      log: () => {},
      onDeath: () => {},
      onRestored: () => {},
      restartRun: () => {},
      background: null,
    });
    generation.register(trialTables(options.taken, folder));
    return { failed: false, diagnostics: [...generation.diagnostics] };
  } catch (error) {
    return { failed: true, diagnostics: [...notes, ...faultOf(error).diagnostics] };
  } finally {
    await generation?.close();
    await rm(folder, { recursive: true, force: true });
  }
}

/**
 * The tools that the manifests of other plugins in these folders declare. Tools that code adds are known only at run
 * time.
 */
export async function declaredNames(dirs: readonly string[], except: string): Promise<TakenNames[]> {
  const others = (await findPlugins(dirs)).filter(({ name }) => name !== except);
  return others.map(({ name, manifest }) => {
    return { plugin: name, tools: (manifest?.tools ?? []).map((tool) => tool.name), workflows: [] };
  });
}

/**
 * Uses the real tables where they work on their own, and only the names in use where they need the whole daemon.
 */
function trialTables(taken: readonly TakenNames[], folder: string): PluginTables {
  const guard: ToolGuard = {
    before: async (_tool, input) => ({ input }),
    after: async (_tool, _input, outcome) => outcome,
  };
  // A trial calls no tools, so this is never used.
  const overflow = new OverflowFiles({ dir: join(folder, "overflow"), shownAs: "", log: silentLogger });
  const tools = new ToolTable({
    log: silentLogger,
    clock: systemClock,
    overflow,
    guard,
    redact: (text) => text,
    record: () => undefined,
    withheld: () => null,
  });
  const workflows = new Map(catalog().map(({ name }) => [name, "the catalog"]));
  const known = new Set<string>();
  for (const { plugin, tools: names, workflows: bodies } of taken) {
    for (const name of names.filter((one) => !isReservedTool(one) && !known.has(one))) {
      known.add(name);
      tools.add(takenTool(name, plugin));
    }
    for (const name of bodies) workflows.set(name, `the plugin ${plugin}`);
  }
  const reducers = new ReducerTable();
  return {
    tools,
    hooks: new HookTable(),
    agents: new AgentTable([], { slug: "", why: "" }),
    commands: new CommandTable(),
    addWorkflow({ name, schema }) {
      const owner = workflows.get(name);
      if (owner !== undefined) throw new AegisError("conflict", `a workflow "${name}" exists already, from ${owner}`);
      if (schema !== null) jsonInput(schema);
      workflows.set(name, "this plugin");
      return nothingToUndo;
    },
    addReducer: (name, reducer) => reducers.add(name, reducer),
    // The worker has checked the names; another plugin can still have the name in the project.
    addChannel: () => nothingToUndo,
    addSkill: () => nothingToUndo,
    offerSkills: () => nothingToUndo,
  };
}

const nothingToUndo: Undo = () => {};

function takenTool(name: string, plugin: string): Parameters<ToolTable["add"]>[0] {
  return { name, plugin, description: "", readOnly: true, input: jsonInput({ type: "object" }), run: async () => "" };
}
