/** Watches a worker's memory outside of its heap, such as buffers: Node's limit covers only the heap. */
import type { Worker } from "node:worker_threads";

export type MemoryOptions = {
  limitMb: number;
  /** Called once. */
  onOver: () => void;
};

const everyMs = 1_000;
const megabyte = 1024 * 1024;

/** Returns a function that stops watching. Also works for a worker that is stuck in a loop. */
export function watchMemory(worker: Worker, { limitMb, onOver }: MemoryOptions): () => void {
  let isAsking = false;
  const timer = setInterval(() => {
    if (isAsking) return;
    isAsking = true;
    worker.getHeapStatistics().then(
      ({ external_memory: outside }) => {
        isAsking = false;
        if (outside <= limitMb * megabyte) return;
        clearInterval(timer);
        onOver();
      },
      // The worker is not up yet, or gone.
      () => {
        isAsking = false;
      },
    );
  }, everyMs).unref();
  return () => clearInterval(timer);
}
