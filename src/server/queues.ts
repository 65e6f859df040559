import { derivedId } from "../runtime/inbox/derived-id.ts";
import type { Handlers } from "./adapter.ts";
import type { Services } from "./services.ts";

export type QueueHandlers = Pick<
  Handlers,
  | "listQueues"
  | "addQueue"
  | "getQueue"
  | "removeQueue"
  | "pauseQueue"
  | "resumeQueue"
  | "drainQueue"
  | "enqueueTask"
  | "listTasks"
  | "getTask"
  | "cancelTask"
  | "retryTask"
>;

export function queueHandlers({ queues }: Services): QueueHandlers {
  return {
    listQueues: async () => ({ queues: await queues.list() }),
    async addQueue({ body }) {
      const { name, ...settings } = body;
      return { queue: await queues.add(name, settings) };
    },
    getQueue: async ({ path }) => ({ queue: await queues.queue(path.queue) }),
    async removeQueue({ path, query }) {
      return { removed: true, cancelled: await queues.remove(path.queue, query) };
    },
    pauseQueue: async ({ path }) => ({ queue: await queues.pause(path.queue) }),
    resumeQueue: async ({ path }) => ({ queue: await queues.resume(path.queue) }),
    async drainQueue({ path, body }, signal) {
      const drained = await queues.drain(path.queue, { signal, timeoutMs: body.timeout_s * 1_000 });
      return { drained, queue: await queues.queue(path.queue) };
    },
    async enqueueTask({ path, body }) {
      const { payload, key } = body;
      const id = key === undefined ? undefined : derivedId("tsk", `${path.queue}/${key}`);
      return queues.enqueue({ queue: path.queue, payload, id, producer: null, callback: false });
    },
    listTasks: async ({ query }) => ({ tasks: await queues.tasks(query) }),
    getTask: ({ path }) => queues.task(path.task),
    cancelTask: ({ path }) => queues.cancel(path.task),
    retryTask: async ({ path }) => ({ task: await queues.retry(path.task) }),
  };
}
