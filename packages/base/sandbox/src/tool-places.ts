/** Places of the home folder that programs of developers need, for a sandbox that hides the rest of it. */
import { basename, delimiter, dirname, isAbsolute, join } from "node:path";
import type { Environment } from "@aegis/lib/child-env.ts";
import { isInside } from "@aegis/lib/files.ts";

const settings = [".gitconfig", ".config/git/config", ".config/git/ignore", ".rustup", ".cargo/bin"];

/** The folder above a `bin` folder of PATH holds the rest of an installation, unless it holds everything. */
export function toolPlaces({ home, env }: { home: string; env: Environment }): string[] {
  const tooMuch = [home, join(home, ".local"), join(home, ".config")];
  const searched = (env.PATH ?? "").split(delimiter).filter((path) => isAbsolute(path) && isInside(home, path));
  const installations = searched
    .filter((path) => basename(path) === "bin")
    .map((path) => dirname(path))
    .filter((path) => !tooMuch.includes(path));
  return [...settings.map((name) => join(home, name)), ...searched.filter((path) => path !== home), ...installations];
}
