/** Builds the package once, so that behaviour tests drive what users install. */
import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";

export default function setup(): void {
  const root = fileURLToPath(new URL("../..", import.meta.url));
  execFileSync("npx", ["--no-install", "tsdown", "--logLevel", "warn"], { cwd: root, stdio: "inherit" });
}
