/**
 * Code that is compiled once and found again by the next process. It lies with the program, where only its owner
 * writes: in the shared temporary folder, which is Node's choice, anybody could leave code to be run.
 */
// Not by name: a Node that lacks it must come as far as being told that it is too old.
import * as nodeModule from "node:module";
import { join } from "node:path";
import { packageRoot } from "./assets.ts";

/** To be called before the rest is imported. Where nothing can be written, the code is compiled each time. */
export function useCompileCache(): void {
  nodeModule.enableCompileCache(join(packageRoot(), "node_modules", ".cache", "aegis"));
}
