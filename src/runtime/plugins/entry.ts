/** A plugin as it stands now, and how clients see it. */
import type { PluginDetail, PluginDiagnostic, PluginStatus, PluginView } from "../../contract/plugin.ts";
import type { FoundPlugin } from "./find.ts";
import type { Generation } from "./generation.ts";

export type Entry = {
  found: FoundPlugin;
  status: PluginStatus;
  reason: string | null;
  /** The one that runs, also when a newer one could not be loaded. */
  generation: Generation | null;
  /** How often it was loaded. */
  loads: number;
  /** What it was made from when it was last tried. */
  key: string;
  diagnostics: readonly PluginDiagnostic[];
};

export function viewOf({ found, status, reason, loads }: Entry): PluginView {
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
  };
}

export function detailOf(entry: Entry, places: { data_dir: string; log_file: string }): PluginDetail {
  const { found, generation, diagnostics } = entry;
  const { manifest } = found;
  const part = generation?.part ?? null;
  const brought = part?.contributions;
  const config = generation?.options.config;
  const secrets = new Set(config?.secrets);
  return {
    ...viewOf(entry),
    ...places,
    requires_aegis: manifest?.requires_aegis ?? null,
    requires: manifest?.requires ?? {},
    modules: found.modules.map((path) => path.slice(found.root.length + 1)),
    brings: {
      hooks: brought?.hooks.map(({ event, name, priority, strict }) => ({ event, name, priority, strict })) ?? [],
      tools: [
        ...(brought?.tools ?? []).map(({ name, description, permission }) => ({
          name,
          description,
          permission,
          program: false,
        })),
        ...(part?.executables ?? []).map(({ name, description, permission }) => ({
          name,
          description,
          permission,
          program: true,
        })),
      ],
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
    },
    settings: Object.entries(manifest?.config_schema ?? {}).map(([key, setting]) => {
      const value = config?.config[key] ?? null;
      const hidden = setting.secret || (typeof value === "string" && secrets.has(value));
      return { ...setting, key, value: hidden && value !== null ? "[redacted]" : value };
    }),
    diagnostics: [...found.diagnostics, ...diagnostics],
  };
}
