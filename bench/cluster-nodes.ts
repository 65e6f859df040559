/** Starts nodes in threads, and asks them to work. */
import { once } from "node:events";
import { Worker } from "node:worker_threads";

export const admittedBody = "x".repeat(200);

export type NodePlan = { url: string; schema: string; name: string };
export type Moment = [seq: number, at: number];
export type NodeRequest =
  /** Each writer admits its messages one after the other. */
  | { do: "admit"; writers: number; each: number }
  /** Answers with the number of each event and when its commit was known. */
  | { do: "commits"; count: number }
  /** Answers with the events of other nodes that arrived since the last request. */
  | { do: "seen" }
  | { do: "close" };

/** The same clock in all threads. */
export function nowMs(): number {
  return Number(process.hrtime.bigint()) / 1_000_000;
}

export class ClusterNode {
  readonly #worker: Worker;
  #last = 0;

  private constructor(worker: Worker) {
    this.#worker = worker;
    worker.setMaxListeners(0);
  }

  static async start(plan: NodePlan, scope: AsyncDisposableStack): Promise<ClusterNode> {
    const worker = new Worker(new URL("cluster-node.ts", import.meta.url), { workerData: plan });
    scope.defer(async () => void (await worker.terminate()));
    await once(worker, "message");
    const node = new ClusterNode(worker);
    scope.defer(() => node.close());
    return node;
  }

  async admit(writers: number, each: number): Promise<void> {
    await this.#ask({ do: "admit", writers, each });
  }

  async commits(count: number): Promise<Moment[]> {
    return (await this.#ask({ do: "commits", count })) as Moment[];
  }

  async seen(): Promise<Moment[]> {
    return (await this.#ask({ do: "seen" })) as Moment[];
  }

  async close(): Promise<void> {
    await this.#ask({ do: "close" });
  }

  async #ask(request: NodeRequest): Promise<unknown> {
    this.#last += 1;
    const id = this.#last;
    const answered = new Promise<unknown>((resolve, reject) => {
      const listener = (message: { id: number; value?: unknown; error?: string }) => {
        if (message.id !== id) return;
        this.#worker.off("message", listener);
        if (message.error === undefined) resolve(message.value);
        else reject(new Error(message.error));
      };
      this.#worker.on("message", listener);
      this.#worker.once("error", reject);
    });
    this.#worker.postMessage({ id, request });
    return answered;
  }
}
