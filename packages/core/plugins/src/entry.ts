/** The current state of a plugin and its view for clients. */
import type { PluginDetail, PluginDiagnostic, PluginStatus, PluginView } from "@aegis/contract/plugin.ts";
import type { FoundPlugin } from "./find.ts";
import type { GateHolder } from "./gates/enforcer.ts";
import type { Generation } from "./generation.ts";
import type { LoadedPlugin } from "./prepare.ts";

export type Entry = {
  found: FoundPlugin;
  status: PluginStatus;
  reason: string | null;
  /** The running generation, which may be older than the latest attempt to load. */
  generation: Generation | null;
  /** The number of loads. */
  loads: number;
  /** The fingerprint of the inputs of the latest attempt. */
  key: string;
  diagnostics: readonly PluginDiagnostic[];
};

/** The part of its state that gates depend on. */
export function holderOf({ found, status, reason, generation }: Entry): GateHolder {
  const isWorking = generation?.isWorking === true;
  const hooks = isWorking ? generation.part.contributions.hooks : null;
  return { name: found.name, place: found.place, hooks, reason: isWorking ? null : (reason ?? status) };
}

/** Like `holderOf`, for the state after the loaded generation is activated. */
export function comingHolder({ found, generation, kind }: LoadedPlugin, before: Entry | undefined): GateHolder {
  const { name, place } = found;
  if (kind === "loaded") return { name, place, hooks: generation.part.contributions.hooks, reason: null };
  return before === undefined ? { name, place, hooks: null, reason: null } : holderOf(before);
}

export function viewOf({ found, status, reason, loads }: Entry, guard: PluginView["guard"]): PluginView {
  const { manifest } = found;
  return {
    name: found.name,
    title: manifest?.title ?? null,
    version: manifest?.version ?? "0.0.0",
    description: manifest?.description ?? "",
    format: manifest?.format ?? "none",
    status,
    reason,
    place: found.place,
    critical: manifest?.critical ?? false,
    generation: loads,
    has_code: found.modules.length > 0,
    guard,
    unsupported: manifest?.unsupported ?? [],
  };
}

export function detailOf(
  entry: Entry,
  guard: PluginView["guard"],
  known: Pick<PluginDetail, "data_dir" | "log_file" | "hook_failures">,
): PluginDetail {
  const { found, generation, diagnostics } = entry;
  const { manifest } = found;
  const part = generation?.part ?? null;
  const brought = part?.contributions;
  const config = generation?.options.config;
  const secrets = new Set(config?.secrets);
  return {
    ...viewOf(entry, guard),
    ...known,
    requires_aegis: manifest?.requires_aegis ?? null,
    requires: manifest?.requires ?? {},
    modules: found.modules.map((path) => path.slice(found.root.length + 1)),
    brings: {
      hooks: brought?.hooks.map(({ event, name, priority, strict }) => ({ event, name, priority, strict })) ?? [],
      tools: [
        ...(brought?.tools ?? []).map((tool) => ({ ...tool, program: false })),
        ...(part?.executables ?? []).map((tool) => ({ ...tool, program: true })),
      ]
        .filter(({ name }) => generation?.hasTool(name) === true)
        .map(({ name, description, permission, program }) => ({ name, description, permission, program })),
      workflows: brought?.workflows.map(({ name, description }) => ({ name, description })) ?? [],
      skills: (part === null ? [] : [...part.skills, ...part.contributions.skills]).map((skill) =>
        "file" in skill ? skill.file.slice(found.root.length + 1) : skill.name,
      ),
      agents: part?.agents.map((agent) => agent.slug) ?? [],
      commands: [...(brought?.commands ?? []), ...(part?.commands ?? [])].map(({ name, description }) => ({
        name,
        description,
      })),
      reducers: brought?.reducers ?? [],
      channels: brought?.channels.map(({ name, description }) => ({ name, description })) ?? [],
    },
    settings: Object.entries(manifest?.config_schema ?? {}).map(([key, setting]) => {
      const value = config?.config[key] ?? null;
      // A setting that references a variable is displayed as written, with the variable's name.
      if (config !== undefined && Object.hasOwn(config.written, key))
        return { ...setting, key, value: config.written[key] };
      const hidden = setting.secret || (typeof value === "string" && secrets.has(value));
      return { ...setting, key, value: hidden && value !== null ? "[redacted]" : value };
    }),
    diagnostics: [...found.diagnostics, ...diagnostics],
  };
}
