/**
 * Enables Node's compile cache in the package's own folder, which only its owner can write. Node's default is the
 * shared temporary folder, where another user could plant code.
 */
// A namespace import: on a Node that lacks the function, startup must get as far as the "Node is too old" message.
import * as nodeModule from "node:module";
import { join } from "node:path";
import { packageRoot } from "./assets.ts";

/** Call this before importing other modules. If the folder is not writable, Node compiles the code at each start. */
export function useCompileCache(): void {
  nodeModule.enableCompileCache(join(packageRoot(), "node_modules", ".cache", "aegis"));
}
