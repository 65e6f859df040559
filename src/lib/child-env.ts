/** The environment a child gets: what any program needs, what its driver names, and no other secret of the daemon's. */

export type Environment = Readonly<Record<string, string | undefined>>;

/** `PREFIX_*` stands for every name with that prefix. */
const always = [
  ...["PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_*", "TERM", "TZ", "TMPDIR"],
  ...["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "all_proxy", "no_proxy"],
];

/** The names of `env` that are always passed on or that `allow` lists (exact, or `PREFIX_*`), then `extra` over them. */
export function childEnv(env: Environment, allow: readonly string[], extra: Environment = {}): Record<string, string> {
  const matches = nameMatcher([...always, ...allow]);
  const child: Record<string, string> = {};
  for (const [name, value] of Object.entries(env)) if (value !== undefined && matches(name)) child[name] = value;
  for (const [name, value] of Object.entries(extra)) if (value !== undefined) child[name] = value;
  return child;
}

function nameMatcher(patterns: readonly string[]): (name: string) => boolean {
  const exact = new Set(patterns.filter((pattern) => !pattern.endsWith("*")));
  const prefixes = patterns.filter((pattern) => pattern.endsWith("*")).map((pattern) => pattern.slice(0, -1));
  return (name) => exact.has(name) || prefixes.some((prefix) => name.startsWith(prefix));
}
