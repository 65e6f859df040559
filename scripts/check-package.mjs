/**
 * Packs Aegis, installs the package into an empty folder and uses it there as a new user would.
 * Needs the registry for the package's dependencies, so it is no part of `npm test`.
 */
import { execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const work = mkdtempSync(join(tmpdir(), "aegis-package-"));
const project = join(work, "project");
const env = { PATH: `${dirname(process.execPath)}:${process.env.PATH}`, HOME: work };

function run(command, args, cwd) {
  return execFileSync(command, args, {
    cwd,
    env: { ...process.env, ...env },
    encoding: "utf8",
    stdio: ["ignore", "pipe", "inherit"],
  });
}

function expect(what, text, pattern) {
  if (!pattern.test(text)) throw new Error(`${what}: expected ${pattern}, got:\n${text}`);
  process.stdout.write(`ok  ${what}\n`);
}

try {
  run("npm", ["pack", "--pack-destination", work, "--loglevel", "error"], root);
  const archive = readdirSync(work).find((name) => name.endsWith(".tgz"));
  mkdirSync(project);
  writeFileSync(join(work, "package.json"), '{ "private": true }\n');
  run("npm", ["install", "--no-audit", "--no-fund", "--loglevel", "error", `aegis@file:${join(work, archive)}`], work);
  const aegis = join(work, "node_modules", ".bin", "aegis");
  const cli = (...args) =>
    execFileSync(aegis, args, { cwd: project, env, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
  expect("aegis --version", cli("--version"), /^\d+\.\d+\.\d+\n$/);
  expect("aegis init", cli("init", "--yes"), /\.aegis\.yaml/);
  try {
    expect("aegis run", cli("run", "--agent", "offline", "list files"), /\.aegis\.yaml|1 file|\d+ files/);
    expect("aegis status", cli("status", "--json"), /"version"/);
  } finally {
    expect("aegis down", cli("down"), /stopped/);
  }
  writeFileSync(
    join(work, "use.mjs"),
    'import { connect, createClient, wait } from "aegis/client";\nimport { routes } from "aegis/schema";\nprocess.stdout.write([createClient, connect, wait.run].map((one) => typeof one).join(" ") + " " + routes.health.path + "\\n");\n',
  );
  expect("imports of the package", run(process.execPath, ["use.mjs"], work), /^function function function \/health\n$/);
  writeFileSync(
    join(work, "plugin.mjs"),
    'import { tool, z } from "aegis";\nimport { callTool } from "aegis/testing";\nconst twice = tool({ description: "x", input: z.object({ n: z.number() }) }, ({ n }) => 2 * n);\nprocess.stdout.write(String(await callTool(twice, { n: 21 })));\n',
  );
  expect("imports of plugins", run(process.execPath, ["plugin.mjs"], work), /^42$/);
  const tsc = join(root, "node_modules", ".bin", "tsc");
  // Programs that check declarations of packages too, as Node and as bundlers resolve them.
  const program = `import { tool, z } from "aegis";
import { connect, followEvents, initialState, reduce, wait, type Client } from "aegis/client";
import { type Session, openApiDocument, sessionSchema } from "aegis/schema";
import { callTool, fakeEngine } from "aegis/testing";

export const client: Promise<Client> = connect(".", { start: true });
export const session: Session = sessionSchema.parse(openApiDocument("1"));
export const twice = tool({ description: "x", input: z.object({ n: z.number() }) }, ({ n }) => 2 * n);
export const calls = [callTool(twice), fakeEngine().calls, followEvents, initialState(), reduce, wait.run];
`;
  for (const [module, moduleResolution] of [
    ["nodenext", "nodenext"],
    ["esnext", "bundler"],
  ]) {
    const folder = join(work, moduleResolution);
    mkdirSync(folder);
    const compilerOptions = { module, moduleResolution, target: "esnext", strict: true, noEmit: true };
    const types = { skipLibCheck: false, types: ["node"], typeRoots: [join(root, "node_modules", "@types")] };
    writeFileSync(
      join(folder, "tsconfig.json"),
      JSON.stringify({ compilerOptions: { ...compilerOptions, ...types }, files: ["program.ts"] }),
    );
    writeFileSync(join(folder, "package.json"), '{ "type": "module" }\n');
    writeFileSync(join(folder, "program.ts"), program);
    expect(`declarations for ${moduleResolution}`, run(tsc, ["-p", "."], folder), /^$/);
  }
  const npx = (...args) => run("npx", ["--yes", ...args], work);
  expect("publint", npx("publint@0.3.25", "run", "--level", "warning", join(work, archive)), /All good/);
  expect(
    "are the types wrong",
    npx("@arethetypeswrong/cli@0.18.5", join(work, archive), "--profile", "esm-only"),
    /aegis/,
  );
  expect("aegis plugin new", cli("plugin", "new", "mine", "--kind", "full"), /node --test/);
  const mine = join(project, ".aegis", "plugins", "mine");
  expect("types of a new plugin", run(tsc, ["-p", "."], mine), /^$/);
  expect("test of a new plugin", run(process.execPath, ["--test"], mine), /fail 0/);
  // The package itself serves as well as the link to it.
  cpSync(mine, join(work, "mine"), { recursive: true, filter: (path) => !path.includes("node_modules") });
  const config = readFileSync(join(work, "mine", "tsconfig.json"), "utf8");
  writeFileSync(join(work, "mine", "tsconfig.json"), config.replace('"aegis/node-test"', ""));
  rmSync(join(work, "mine", "plugin.test.ts"));
  expect("types against the package", run(tsc, ["-p", "."], join(work, "mine")), /^$/);
  installGlobally(join(work, archive));
} finally {
  rmSync(work, { recursive: true, force: true });
}

/** As a user does, with the Node of the machine, which may be older than the one that the package brings. */
function installGlobally(tarball) {
  const [prefix, home, folder] = ["prefix", "home", "own"].map((name) => join(work, name));
  for (const path of [prefix, home, folder]) mkdirSync(path);
  const path = process.env.PATH.split(":").filter((one) => !one.includes("node_modules"));
  const user = { PATH: [join(prefix, "bin"), ...path].join(":"), HOME: home };
  const as = (command, ...args) =>
    execFileSync(command, args, { cwd: folder, env: user, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
  // With the user's own settings of npm, which may name a registry.
  const npm = (...args) =>
    execFileSync("npm", [...args, "--global", "--prefix", prefix, "--no-audit", "--no-fund"], {
      env: { ...process.env, PATH: user.PATH },
      stdio: ["ignore", "pipe", "inherit"],
    });
  const from = performance.now();
  npm("install", tarball);
  try {
    expect(
      `aegis init under Node ${as("node", "--version").trim()}`,
      as("aegis", "init", "--yes"),
      /Wrote \.aegis\.yaml/,
    );
    expect("the first answer", as("aegis", "run", "--agent", "offline", "hello"), /offline agent/);
    const seconds = (performance.now() - from) / 1_000;
    expect(
      `from npm install to the first answer in ${seconds.toFixed(1)} s, at most 60 s`,
      String(seconds < 60),
      /true/,
    );
    expect("aegis web", as("aegis", "web", "--no-open"), /^http:\/\/127\.0\.0\.1:\d+\/#code=/);
  } finally {
    expect("aegis down", as("aegis", "down"), /stopped/);
  }
  npm("uninstall", "aegis-agents");
  expect("npm uninstall", String(existsSync(join(prefix, "bin", "aegis"))), /false/);
}
