/** Watches the memory of a worker outside of its heap, such as buffers: the limit that Node keeps is for the heap alone. */
import type { Worker } from "node:worker_threads";

export type MemoryOptions = {
  limitMb: number;
  /** Told once. */
  onOver: () => void;
};

const everyMs = 1_000;
const megabyte = 1024 * 1024;

/** Gives what ends it. Sees also a worker that is stuck in a loop. */
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
      // It is not up yet, or gone.
      () => {
        isAsking = false;
      },
    );
  }, everyMs).unref();
  return () => clearInterval(timer);
}
