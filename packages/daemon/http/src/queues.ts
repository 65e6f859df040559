import { checkOf } from "@aegis/contract/check.ts";
import { AegisError } from "@aegis/contract/errors.ts";
import { mergeQueueName } from "@aegis/contract/landing.ts";
import type { Queues } from "@aegis/delegation/queues/queues.ts";
import { derivedId } from "@aegis/sessions/inbox/derived-id.ts";
import type { MergeQueue } from "@aegis/worktrees/landing/merge-queue.ts";
import type { Handlers } from "./requests.ts";
import type { RedactedViews } from "./shown.ts";

/** What these handlers call. */
export type QueueServices = {
  queues: Pick<
    Queues,
    | "list"
    | "queue"
    | "add"
    | "remove"
    | "pause"
    | "resume"
    | "drain"
    | "enqueue"
    | "tasks"
    | "task"
    | "cancel"
    | "retry"
  >;
  mergeQueue: Pick<MergeQueue, "list" | "queue" | "pause" | "resume" | "drain">;
  shown: RedactedViews;
};

export function queueHandlers({ queues, mergeQueue, shown }: QueueServices) {
  const named = (name: string) => (name === mergeQueueName ? mergeQueue : queues);
  return {
    listQueues: async () => ({ queues: [...(await queues.list()), ...(await mergeQueue.list())] }),
    async addQueue({ body }) {
      const { name, ...settings } = body;
      return { queue: await queues.add(name, settings) };
    },
    getQueue: async ({ path }) => ({ queue: await named(path.queue).queue(path.queue) }),
    async removeQueue({ path, query }) {
      return { removed: true, cancelled: await queues.remove(path.queue, query) };
    },
    pauseQueue: async ({ path }) => ({ queue: await named(path.queue).pause(path.queue) }),
    resumeQueue: async ({ path }) => ({ queue: await named(path.queue).resume(path.queue) }),
    async drainQueue({ path, body }, signal) {
      const drained = await named(path.queue).drain(path.queue, { signal, timeoutMs: body.timeout_s * 1_000 });
      return { drained, queue: await named(path.queue).queue(path.queue) };
    },
    async enqueueTask({ path, body }, _signal, caller) {
      const { payload } = body;
      // Each client has its own keys, so that it cannot guess the ones of others.
      const key = caller.kind === "owner" || body.key === undefined ? body.key : `client:${caller.name}/${body.key}`;
      const id = key === undefined ? undefined : derivedId("tsk", `${path.queue}/${key}`);
      if (body.check !== undefined && caller.kind !== "owner")
        throw new AegisError("forbidden", "only the owner of the project may name a check: it is a command");
      const check = body.check === undefined ? undefined : { ...checkOf(body.check), by: "person" as const };
      const from = { producer: null, callback: false, check };
      const { task, ...rest } = await queues.enqueue({ queue: path.queue, payload, id, ...from });
      return { task: shown.task(task), ...rest };
    },
    listTasks: async ({ query }) => ({ tasks: (await queues.tasks(query)).map((task) => shown.task(task)) }),
    async getTask({ path }) {
      const { task, attempts } = await queues.task(path.task);
      return { task: shown.task(task), attempts };
    },
    cancelTask: ({ path }) => queues.cancel(path.task),
    retryTask: async ({ path }) => ({ task: shown.task(await queues.retry(path.task)) }),
  } satisfies Partial<Handlers>;
}
