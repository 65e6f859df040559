/** Resolves what settings reach to the policy of one start: the places of this project and machine are known here. */
import { join } from "node:path";
import type { Environment } from "@aegis/lib/child-env.ts";
import { isInside } from "@aegis/lib/files.ts";
import { gitPlaces } from "./git-places.ts";
import { hiddenPlaces } from "./hidden-places.ts";
import { type HostRule, isLoopbackName, parseHostRule } from "./host-rules.ts";
import type { SandboxPolicy } from "./policy.ts";
import type { Reach } from "./reach.ts";
import { toolPlaces } from "./tool-places.ts";

export type PolicyPlaces = {
  /** The project. */
  root: string;
  /** Where the program works: the project or a worktree. */
  folder: string;
  /** False for an agent that may only read. */
  mayWrite: boolean;
  home: string;
  /** The daemon's environment. */
  env: Environment;
  /** The daemon's state, which is hidden but for `own`. */
  stateDir: string;
  /** Folders of the state that the program may change, and those of a harness. */
  own: readonly string[];
  /** What the program reads although other rules hide or protect it. */
  shown: readonly string[];
  protectOwn: readonly string[];
  /** A folder of the user, and the one that appears in its place. */
  replaced: { folder: string; at: string } | null;
  /** Rules for hosts, or addresses. */
  hosts: readonly string[];
  /** A private folder that appears as `/tmp`. */
  tmp: string;
  /** Places with the logins of programs that this one is not. */
  logins: readonly string[];
  /** Files of the project that other programs take orders from, relative to the folder. */
  protect: readonly string[];
};

/** Package registries, which `workspace` allows. */
const registries: readonly string[] = [
  ...["registry.npmjs.org", "registry.yarnpkg.com", "pypi.org", "files.pythonhosted.org", "crates.io"],
  ...[
    "index.crates.io",
    "static.crates.io",
    "proxy.golang.org",
    "sum.golang.org",
    "rubygems.org",
    "index.rubygems.org",
  ],
  ...["repo.maven.apache.org", "repo1.maven.org", "plugins.gradle.org", "nodejs.org"],
];

/** Files with which Aegis, an editor or a shell starts programs. */
const orders: readonly string[] = [
  ...[".aegis", ".aegis.yaml", ".aegis.local.yaml", ".mcp.json", ".vscode", ".idea", ".envrc", ".husky"],
];

/** Null for a program that is not confined. */
export async function policyFor(reach: Reach, places: PolicyPlaces): Promise<SandboxPolicy | null> {
  const { level } = reach;
  if (level === "off") return null;
  const { root, folder, mayWrite, home, env, stateDir, own, tmp, logins, protect } = places;
  const git = await gitPlaces(folder);
  const isWorktree = folder !== root;
  const known = [...places.hosts, ...(level === "workspace" ? registries : [])].flatMap(hostOf);
  const hosts = [...reach.hosts, ...known];
  const work = mayWrite ? [folder, ...git.write] : [];
  const allowed = { write: outside(reach.write, [folder, root]), read: outside(reach.read, [folder, root]) };
  const written = [...orders, ...protect];
  return {
    level,
    write: [...work, ...allowed.write, ...own],
    protect: [
      ...written.map((name) => join(folder, name)),
      ...(isWorktree ? written.map((name) => join(root, name)) : []),
      ...git.protect,
      ...places.protectOwn,
    ],
    hide: [
      ...(await hiddenPlaces({ home, env })),
      ...logins.map((name) => join(home, name)),
      stateDir,
      ...(level === "strict" ? [home] : []),
    ].filter((path) => !allowed.read.includes(path)),
    // The deepest path decides, so what is hidden in a shown folder stays hidden.
    show: [
      ...allowed.read,
      ...places.shown,
      ...(level === "strict" ? [root, folder, ...toolPlaces({ home, env })] : []),
    ],
    instead: places.replaced === null ? [] : [places.replaced],
    tmp,
    hosts: hosts.filter(({ host }) => !isLoopbackName(host)),
    ports: hosts.flatMap(({ host, port }) => (isLoopbackName(host) && port !== null ? [port] : [])),
  };
}

/** Without the paths in another one that programs change: there a link could take the place of what was allowed. */
function outside(paths: readonly string[], changed: readonly string[]): string[] {
  const around = (path: string) => [...changed, ...paths.filter((one) => one !== path)];
  return paths.filter((path) => !around(path).some((one) => isInside(one, path)));
}

/** An address of a service means its host and port. */
function hostOf(text: string): HostRule[] {
  const url = /^https?:/.test(text) ? URL.parse(text) : null;
  const rule = parseHostRule(
    url === null ? text : `${url.hostname}:${url.port || (url.protocol === "http:" ? 80 : 443)}`,
  );
  return typeof rule === "string" ? [] : [rule];
}
