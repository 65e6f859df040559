/** The configuration as it may be shown: secrets masked, prompt files by name. */
import type { Config } from "./config.ts";

export const mask = "********";

export type PublicConfig = Omit<Config, "agents"> & { agents: Record<string, PublicAgent> };
type PublicAgent = Omit<Config["agents"][string], "prompt"> & { prompt: string | null };

export function publicConfig(config: Config): PublicConfig {
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
    if (isSettings(own)) Object.assign(plugins, { [name]: maskSecrets(own) });
  return {
    ...config,
    agents,
    plugins,
    ...(config.telegram?.token === undefined ? {} : { telegram: { ...config.telegram, token: mask } }),
  };
}

export function looksSecret(name: string): boolean {
  return /(^|[_-])(key|apikey|token|secret|password|passwd|passphrase|credentials?|auth|pat|dsn)s?([_-]|$)/i.test(
    name.replace(/([a-z])([A-Z])/g, "$1_$2"),
  );
}

/** A plugin's own settings, as against the switches beside them. */
function isSettings(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && !Array.isArray(value);
}

function maskSecrets<T>(values: Record<string, T>): Record<string, T | string> {
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => [name, looksSecret(name) && value !== "" ? mask : value]),
  );
}
