/** The worker that strips types for all plugins, so that their own workers need not load the stripper. */
import { readFileSync } from "node:fs";
import { parentPort } from "node:worker_threads";
import { stripTypes } from "./strip.ts";

export type StripRequest = { id: number; files: readonly string[]; cacheDir: string };

const port = parentPort;
port?.on("message", ({ id, files, cacheDir }: StripRequest) => {
  for (const file of files) {
    try {
      stripTypes(readFileSync(file, "utf8"), file, cacheDir);
    } catch {
      // The plugin's own worker hits the same error and reports it.
    }
  }
  port.postMessage(id);
});
