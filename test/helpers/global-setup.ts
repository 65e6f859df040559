/** Builds the package, so that behaviour tests drive what users install. A build that is newer than its sources is kept. */
import { execFileSync } from "node:child_process";
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../..", import.meta.url));
const sources = ["src", "package.json", "tsdown.config.ts"];
const builds = ["dist/cli.js", "dist/daemon.js"];

export default function setup(): void {
  if (Math.min(...builds.map(modified)) > Math.max(...sources.map(newest))) return;
  execFileSync("npx", ["--no-install", "tsdown", "--logLevel", "warn"], { cwd: root, stdio: "inherit" });
}

function newest(path: string): number {
  const own = modified(path);
  if (!statSync(join(root, path)).isDirectory()) return own;
  const files = readdirSync(join(root, path), { recursive: true, encoding: "utf8" });
  return Math.max(own, ...files.map((file) => modified(join(path, file))));
}

function modified(path: string): number {
  return statSync(join(root, path), { throwIfNoEntry: false })?.mtimeMs ?? 0;
}
