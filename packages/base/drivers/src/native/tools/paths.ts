/** Resolves paths from a model and keeps them inside the project. */
import { readdir } from "node:fs/promises";
import { basename, dirname, relative } from "node:path";
import { containedPath } from "@aegis/lib/files.ts";
import { didYouMean } from "@aegis/lib/nearest.ts";
import { ToolError } from "./tool.ts";

export type ProjectPath = {
  /** Absolute, with links resolved. */
  real: string;
  /** As shown to the model: relative to the project. */
  shown: string;
};

export async function projectPath(cwd: string, path: string): Promise<ProjectPath> {
  const real = await containedPath(cwd, path);
  if (real === null) throw new ToolError(`${path} is outside the project. Only paths below ${cwd} can be used.`);
  const root = await containedPath(cwd, ".");
  return { real, shown: relative(root ?? cwd, real) || "." };
}

/** `No file x`, with the nearest name in its folder. */
export async function missing(path: ProjectPath): Promise<ToolError> {
  const names = await readdir(dirname(path.real)).catch(() => []);
  return new ToolError(`No file ${path.shown}${didYouMean(basename(path.real), names)}.`);
}

/** Text contains no NUL; checking only the beginning is enough. */
export function isBinary(content: Uint8Array): boolean {
  return content.subarray(0, 8192).includes(0);
}
