/**
 * Builds the environment of a child process: the variables that every program needs and those that its driver names.
 * The daemon's other secrets are not passed on.
 */
import { isAbsolute } from "node:path";

export type Environment = Readonly<Record<string, string | undefined>>;

/** `PREFIX_*` matches every name with that prefix. */
const always = [
  ...["PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_*", "TERM", "TZ", "TMPDIR"],
  ...["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "all_proxy", "no_proxy"],
];

/**
 * Returns the variables of `env` that are always passed on or that `allow` lists (exact, or `PREFIX_*`), overridden by
 * `extra`.
 */
export function childEnv(env: Environment, allow: readonly string[], extra: Environment = {}): Record<string, string> {
  const matches = nameMatcher([...always, ...allow]);
  const child: Record<string, string> = {};
  for (const [name, value] of Object.entries(env)) {
    // A relative home folder would be the project's folder. Without HOME, a program uses the one of the account.
    const isUsable = name !== "HOME" || isAbsolute(value ?? "");
    if (value !== undefined && isUsable && matches(name)) child[name] = value;
  }
  for (const [name, value] of Object.entries(extra)) if (value !== undefined) child[name] = value;
  return child;
}

function nameMatcher(patterns: readonly string[]): (name: string) => boolean {
  const exact = new Set(patterns.filter((pattern) => !pattern.endsWith("*")));
  const prefixes = patterns.filter((pattern) => pattern.endsWith("*")).map((pattern) => pattern.slice(0, -1));
  return (name) => exact.has(name) || prefixes.some((prefix) => name.startsWith(prefix));
}
