/** The version of the package this code is part of. */
import { readFileSync } from "node:fs";

/** The manifest is one folder up from `dist/`, two from `packages/base/lib/src/`. */
export function packageVersion(): string {
  const manifest = new URL(
    import.meta.url.endsWith(".ts") ? "../../../../package.json" : "../package.json",
    import.meta.url,
  );
  const { version } = JSON.parse(readFileSync(manifest, "utf8")) as { version: string };
  return version;
}
