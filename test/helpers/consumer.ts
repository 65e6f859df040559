/** A folder in which the built package is installed, as in a program of its users. */
import { execFile } from "node:child_process";
import { mkdir, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

export const packageFolder = fileURLToPath(new URL("../..", import.meta.url));

/** Makes `import "aegis"` lead to the built package for every module below the folder. */
export async function installPackage(folder: string): Promise<void> {
  await mkdir(join(folder, "node_modules"), { recursive: true });
  await symlink(packageFolder, join(folder, "node_modules", "aegis"));
}

/** Runs a module in the folder with Node and gives what it printed. */
export async function runModule(
  folder: string,
  code: string,
  env: Readonly<Record<string, string>> = {},
): Promise<string> {
  await writeFile(join(folder, "module.mjs"), code);
  const path = `${dirname(process.execPath)}:/usr/bin:/bin`;
  const { stdout } = await promisify(execFile)(process.execPath, ["module.mjs"], {
    cwd: folder,
    env: { PATH: path, HOME: folder, LANG: "C.UTF-8", ...env },
  });
  return stdout;
}
