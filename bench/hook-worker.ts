/** A plugin's worker with as many hooks as it is asked for; each does next to nothing. */
import { parentPort } from "node:worker_threads";
import { type CallHook, runBatch } from "@aegis/hooks/hook-batch.ts";
import type { HookBatch } from "@aegis/hooks/hook-table.ts";

export const answer: CallHook = (name) => ({ prependSystem: name });

parentPort?.on("message", async ({ id, batch }: { id: number; batch: HookBatch }) => {
  const results = await runBatch(batch, answer, new AbortController().signal);
  parentPort?.postMessage({ id, results });
});
