/** Entry of the daemon process: `node daemon.js --project <folder>`. It stays tiny: the rest comes from the cache. */
import { flushCompileCache } from "node:module";
import { useCompileCache } from "../lib/compile-cache.ts";

/** By then all that a start needs is loaded. */
const loadedAfterMs = 3_000;

useCompileCache();
// A daemon that is killed writes nothing on its way out.
setTimeout(flushCompileCache, loadedAfterMs).unref();
const { runFromCommandLine } = await import("./command-line.ts");
process.exit(await runFromCommandLine(process.argv.slice(2), process.env));
