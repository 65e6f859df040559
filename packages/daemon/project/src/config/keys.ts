/**
 * Reads and prepares changes of single settings by key, for commands. Lists show secrets masked; a value that holds a
 * secret is written only to the local file.
 */
import { AegisError } from "@aegis/contract/errors.ts";
import { didYouMean } from "@aegis/lib/nearest.ts";
import { isOverriddenLocally } from "./changes.ts";
import { readPath } from "./combine.ts";
import type { Config } from "./config.ts";
import { knownKeys } from "./explain.ts";
import { parsePath, parseValue } from "./paths.ts";
import type { KeyPath } from "./problem.ts";
import { configSchema } from "./schema.ts";
import { declaredSecrets, type SecretQuestion, secretKeys, sharedFilesWith } from "./secret-settings.ts";
import { type PublicConfig, publicConfig } from "./show.ts";

type SecretsOf = Pick<SecretQuestion, "root" | "env">;

export async function shownConfig(project: SecretsOf, config: Config): Promise<PublicConfig> {
  return publicConfig(config, await declaredSecrets(project, config));
}

/**
 * The value of `agents.dev.model`; undefined if the key exists and is unset. Throws `invalid` for a key that does not
 * exist. A key that names one exact value gives it; secrets in a list or map are masked.
 */
export async function readKey(project: SecretsOf, config: Config, key: string): Promise<unknown> {
  const path = parsePath(key);
  const exact = readPath(config, path);
  const value = typeof exact === "object" ? readPath(await shownConfig(project, config), path) : exact;
  if (value === undefined) refuseUnknown(config, path);
  return value;
}

export type KeyChange = {
  path: KeyPath;
  value: unknown;
  /** Whether it belongs in the local file, because the person said so or it holds a secret. */
  local: boolean;
  /** The keys that would hold a secret. */
  secrets: string[];
  /** Whether the local file overrides the file that will be written. */
  isOverridden: boolean;
  /** For a secret: the files that may be in git and already have a value for the key. */
  sharedIn: string[];
};

export async function planChange(
  project: SecretQuestion,
  { key, text, local }: { key: string; text: string; local: boolean },
): Promise<KeyChange> {
  const path = parsePath(key);
  const value = parseValue(text);
  const secrets = await secretKeys(project, path, value);
  const isLocal = local || secrets.length > 0;
  return {
    path,
    value,
    local: isLocal,
    secrets,
    isOverridden: !isLocal && (await isOverriddenLocally(project.root, path)),
    sharedIn: secrets.length === 0 ? [] : await sharedFilesWith(project.root, path),
  };
}

/** Returns if the key exists and is only unset. */
function refuseUnknown(config: unknown, path: KeyPath): void {
  const parent = path.slice(0, -1);
  const last = String(path.at(-1));
  const known = knownKeys(configSchema, parent) ?? [];
  const value = readPath(config, parent);
  const present = typeof value === "object" && value !== null ? Object.keys(value) : [];
  if (known.includes(last) && (value !== undefined || parent.length < 2)) return;
  const names = [...new Set([...present, ...known])];
  const hint = `keys there: ${names.join(", ")}`;
  throw new AegisError(
    "invalid",
    `no key "${path.join(".")}"${didYouMean(last, names)}`,
    names.length === 0 ? {} : { hint },
  );
}
