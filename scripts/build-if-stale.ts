/** Builds the package, unless a build is there that is newer than its sources: others may be running it. */
import { execFileSync } from "node:child_process";
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const sources = ["packages", "package.json", "tsdown.config.ts"];
const builds = ["dist/cli.js", "dist/daemon.js", "dist/web/index.html"];

/** What the build says goes to stderr: stdout is for results. */
export function buildIfStale(): void {
  if (Math.min(...builds.map(modified)) > Math.max(...sources.map(newest))) return;
  execFileSync("npx", ["--no-install", "tsdown", "--logLevel", "warn"], { cwd: root, stdio: ["ignore", 2, 2] });
}

function newest(path: string): number {
  const own = modified(path);
  if (!statSync(join(root, path)).isDirectory()) return own;
  const files = readdirSync(join(root, path), { recursive: true, encoding: "utf8" });
  const shipped = files.filter((file) => !/[/]test(?:[/]|$)/.test(file));
  return Math.max(own, ...shipped.map((file) => modified(join(path, file))));
}

function modified(path: string): number {
  return statSync(join(root, path), { throwIfNoEntry: false })?.mtimeMs ?? 0;
}
