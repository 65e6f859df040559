/** Resolves the programs that a manifest lists as tools. A tool whose program is missing is skipped. */
import { access, constants, stat } from "node:fs/promises";
import { delimiter, isAbsolute, join, resolve } from "node:path";
import type { ExecutableTool } from "../../contract/plugin.ts";
import type { Environment } from "../../lib/child-env.ts";
import type { Fault } from "./protocol.ts";

export async function findPrograms(
  tools: readonly ExecutableTool[],
  root: string,
  env: Environment,
): Promise<{ found: ExecutableTool[]; faults: Fault[] }> {
  const found: ExecutableTool[] = [];
  const faults: Fault[] = [];
  for (const tool of tools) {
    const problem = await programProblem(tool.command, root, env);
    if (problem === null) found.push(tool);
    else faults.push({ message: `the tool "${tool.name}" is left out: ${problem}`, file: null, line: null });
  }
  return { found, faults };
}

/** The reason why a program cannot start, or null. A name without a slash is looked up on the PATH. */
async function programProblem(command: string, root: string, env: Environment): Promise<string | null> {
  if (command.includes("/")) {
    const path = resolve(root, command);
    const where = isAbsolute(command) ? "" : " in the plugin's folder";
    if (!(await isFile(path))) return `its program ${command} is not there${where}`;
    return (await isExecutable(path)) ? null : `its program ${command} is not executable (chmod +x)`;
  }
  for (const folder of (env.PATH ?? "").split(delimiter)) {
    const path = join(folder, command);
    if (folder !== "" && (await isFile(path)) && (await isExecutable(path))) return null;
  }
  return `its program ${command} is not on the PATH; reload the plugin once it is installed`;
}

async function isFile(path: string): Promise<boolean> {
  return (await stat(path).catch(() => null))?.isFile() === true;
}

async function isExecutable(path: string): Promise<boolean> {
  return access(path, constants.X_OK).then(
    () => true,
    () => false,
  );
}
