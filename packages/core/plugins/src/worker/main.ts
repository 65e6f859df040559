/** The entry point of a plugin's worker: loads its modules, reports what they define, and runs them on request. */
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { relative } from "node:path";
import { pathToFileURL } from "node:url";
import { parentPort, workerData } from "node:worker_threads";
import type { PluginContext } from "@aegis/plugin-api/context.ts";
import type { FromWorker, ToWorker, WorkerData } from "../protocol.ts";
import { toWire } from "../wire-error.ts";
import { Calls } from "./calls.ts";
import { CollectedParts } from "./collect.ts";
import { guardProcess } from "./guard.ts";
import { registerLoader } from "./loader.ts";
import { captureStream, limitedLog } from "./output.ts";
import { placeOf } from "./place.ts";

const port = parentPort;
if (port === null) throw new Error("this file runs in a worker of the daemon");

const start = workerData as WorkerData;
const post = (message: FromWorker) => port.postMessage(message);
const log = limitedLog((level, text) => post({ type: "log", level, text }));
captureStream(process.stdout, "info", log);
captureStream(process.stderr, "warn", log);
guardProcess({ nested: new URL(start.guard), report: (message) => log("error", message) });
registerLoader(start);

const context: PluginContext = Object.freeze({
  id: start.plugin,
  config: Object.freeze(start.config),
  dataDir: start.dataDir,
  pluginDir: start.root,
  projectRoot: start.projectRoot,
  log: (level, message) => log(level, String(message)),
} satisfies PluginContext);

async function load(): Promise<CollectedParts> {
  const collected = new CollectedParts((made) => placeOf(made, start));
  for (const path of start.modules) {
    const hash = createHash("sha256")
      .update(await readFile(path))
      .digest("hex");
    const file = relative(start.root, path);
    post({ type: "loading", file, step: "import" });
    const namespace = (await import(pathToFileURL(path).href)) as Record<string, unknown>;
    collected.addModule(namespace, file, hash);
    if (typeof namespace.register !== "function") continue;
    post({ type: "loading", file, step: "register" });
    await namespace.register(collected.api(context, hash));
  }
  return collected;
}

load().then(
  (collected) => {
    const calls = new Calls(collected, context, post);
    port.on("message", (message: ToWorker) => calls.take(message));
    post({ type: "loaded", contributions: collected.contributions });
  },
  (error: unknown) => post({ type: "broken", error: toWire(error), ...placeOf(error, start) }),
);
