/** The configuration in a form that is safe to display: secrets masked, prompt files by name. */
import { soleVariable } from "@aegis/lib/variables.ts";
import type { Config } from "./config.ts";

const mask = "********";

export type PublicConfig = Omit<Config, "agents"> & { agents: Record<string, PublicAgent> };
type PublicAgent = Omit<Config["agents"][string], "prompt"> & { prompt: string | null };

/** `declared` contains the settings that plugins declare as secret, as `plugins.<name>.<key>`. */
export function publicConfig(config: Config, declared: ReadonlySet<string>): PublicConfig {
  const agents = Object.fromEntries(
    Object.entries(config.agents).map(([slug, agent]) => [
      slug,
      {
        ...agent,
        prompt: agent.prompt?.file ?? null,
        env: maskSecrets(agent.env),
        options: maskSecrets(agent.options),
      },
    ]),
  );
  const plugins = { ...config.plugins };
  for (const [name, own] of Object.entries(plugins))
    if (isSettings(own))
      Object.assign(plugins, { [name]: maskSecrets(own, (key) => declared.has(`plugins.${name}.${key}`)) });
  return { ...config, agents, plugins };
}

export function looksSecret(name: string): boolean {
  return /(^|[_-])(key|apikey|token|secret|password|passwd|passphrase|credentials?|auth|pat|dsn)s?([_-]|$)/i.test(
    name.replace(/([a-z])([A-Z])/g, "$1_$2"),
  );
}

/** Distinguishes a plugin's settings from an on/off switch. */
function isSettings(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && !Array.isArray(value);
}

function maskSecrets<T>(
  values: Record<string, T>,
  isDeclared: (key: string) => boolean = () => false,
): Record<string, T | string> {
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => [name, shown(value, looksSecret(name) || isDeclared(name))]),
  );
}

function shown<T>(value: T, isSecret: boolean): T | string {
  if (isSecret && value !== "" && !(typeof value === "string" && soleVariable(value) !== null)) return mask;
  // Entries of a nested map are settings as well.
  return isSettings(value) && value !== null ? (maskSecrets(value) as T) : value;
}
