/** The preload of workers that a plugin starts: applies the guard of the plugin's own worker. */
import { guardProcess } from "./guard.ts";

// The error reaches the plugin, which has the only channel to this worker.
guardProcess({ nested: new URL(import.meta.url), report: () => {} });
