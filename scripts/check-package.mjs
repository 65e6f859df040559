/**
 * Packs Aegis, installs the package into an empty folder and uses it there as a new user would.
 * Needs the registry for the package's dependencies, so it is no part of `npm test`.
 */
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
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
  run("npm", ["install", "--no-audit", "--no-fund", "--loglevel", "error", join(work, archive)], work);
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
    'import { createClient } from "aegis/client";\nimport { routes } from "aegis/contract";\nprocess.stdout.write(typeof createClient + " " + routes.health.path + "\\n");\n',
  );
  expect("imports of the package", run(process.execPath, ["use.mjs"], work), /^function \/health\n$/);
} finally {
  rmSync(work, { recursive: true, force: true });
}
