/**
 * The entry point of the daemon process: `node daemon.js --project <folder>`. It stays small, so that all other modules
 * load from the compile cache.
 */
import { flushCompileCache } from "node:module";
import { setFlagsFromString } from "node:v8";
import { useCompileCache } from "@aegis/lib/compile-cache.ts";
import { followLoad } from "./heap-mode.ts";

/** Everything that a start needs is loaded by then. */
const loadedAfterMs = 3_000;

// V8 shares compiled WebAssembly between threads, and it may crash the process while it replaces a wrapper that another
// thread uses. Node's type stripping and fetch are WebAssembly, and plugins run in threads, so wrappers stay as they are.
setFlagsFromString("--wasm-wrapper-tiering-budget=1000000000");
useCompileCache();
// The work goes on if the log cannot be written: `aegis serve`, which reads it, was killed, or the disk is full.
for (const stream of [process.stdout, process.stderr]) stream.on("error", () => {});
setTimeout(() => {
  // A killed daemon does not write its cache on exit.
  flushCompileCache();
  // The flags of a daemon at rest would make its start a quarter slower.
  followLoad();
}, loadedAfterMs).unref();
const { runFromCommandLine } = await import("./command-line.ts");
process.exit(await runFromCommandLine(process.argv.slice(2), process.env));
