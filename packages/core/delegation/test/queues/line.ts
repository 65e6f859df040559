/**
 * A queue on a real runtime, whose workers the test holds at gates of their own. One whose payload begins with `stubborn`
 * does not end when it is cut.
 */
import type { SessionId, TaskId } from "@aegis/contract/ids.ts";
import { type QueueSettings, queueSettingsSchema, type Task } from "@aegis/contract/task.ts";
import type { DriverEvent } from "@aegis/drivers/driver.ts";
import type { Clock } from "@aegis/lib/clock.ts";
import { offlineAgent } from "@aegis/project/harnesses/detect.ts";
import {
  cancelled,
  completed,
  said,
  type TestReply,
  type TestRuntime,
  testDriver,
  testRuntime,
} from "@aegis/test/helpers/runtime.ts";
import { memoryDir } from "@aegis/test/helpers/temp-dir.ts";
import { waitUntil } from "@aegis/test/helpers/wait-until.ts";

export type Line = {
  runtime: TestRuntime;
  dir: string;
  /** Enqueues as a person. */
  put(payload: string, queue?: string): Promise<TaskId>;
  /** Payloads of the workers that are at work now, in the order they began. */
  atWork(): string[];
  /** Every payload that was given to a worker, in order. */
  readonly begun: readonly string[];
  /** What producers were told, as their agents read it. */
  readonly heard: readonly string[];
  /** Lets the worker of this payload end its turn with these events; it says `did <payload>` when none are given. */
  finish(payload: string, ...events: DriverEvent[]): void;
  task(id: TaskId): Promise<Task>;
  /** Waits until the task is as described. */
  is(id: TaskId, status: Task["status"]): Promise<Task>;
};

export function settings(change: Partial<QueueSettings> = {}): QueueSettings {
  return queueSettingsSchema.parse({ agent: offlineAgent.slug, ...change });
}

export async function line(
  change: Partial<QueueSettings> = {},
  options: { clock?: Clock; dir?: string; start?: boolean } = {},
): Promise<Line> {
  const dir = options.dir ?? (await memoryDir());
  const held = new Map<string, PromiseWithResolvers<readonly DriverEvent[]>>();
  const begun: string[] = [];
  const heard: string[] = [];
  const working: string[] = [];
  const gate = (payload: string) => {
    const known = held.get(payload) ?? Promise.withResolvers<readonly DriverEvent[]>();
    held.set(payload, known);
    return known;
  };
  const reply: TestReply = async function* ({ prompt, signal }) {
    const { text } = prompt;
    if (text.startsWith("> from queue:")) {
      heard.push(text);
      yield completed;
      return;
    }
    begun.push(text);
    working.push(text);
    const cut = new Promise<"cut">((resolve) => {
      if (text.startsWith("stubborn")) return;
      if (signal.aborted) resolve("cut");
      signal.addEventListener("abort", () => resolve("cut"), { once: true });
    });
    try {
      const next = await Promise.race([gate(text).promise, cut]);
      held.delete(text);
      if (next === "cut") yield cancelled;
      else yield* next;
    } finally {
      working.splice(working.indexOf(text), 1);
    }
  };
  const runtime = await testRuntime(dir, testDriver(reply), options.clock ? { clock: options.clock } : {});
  if ((await runtime.queues.list()).length === 0) await runtime.queues.add("work", settings(change));
  if (options.start !== false) await runtime.queues.start();
  const task = async (id: TaskId) => (await runtime.queues.task(id)).task;
  return {
    runtime,
    dir,
    begun,
    heard,
    task,
    atWork: () => [...working],
    async put(payload, queue = "work") {
      return (await runtime.queues.enqueue({ queue, payload, producer: null, callback: false })).task.id;
    },
    finish(payload, ...events) {
      gate(payload).resolve(events.length > 0 ? events : [said(`did ${payload}`), completed]);
    },
    async is(id, status) {
      await waitUntil(`task ${id} is ${status}`, async () => (await task(id)).status === status);
      return task(id);
    },
  };
}

/** A session that gives tasks and hears of them. */
export async function producer({ runtime }: Line): Promise<SessionId> {
  return (await runtime.sessions.create({ handle: "lucid-hertz" })).session.id;
}

/** Enqueues as that session, to be told. */
export async function give({ runtime }: Line, producer: SessionId, payload: string): Promise<TaskId> {
  return (await runtime.queues.enqueue({ queue: "work", payload, producer, callback: true })).task.id;
}

export function failed(message: string, code = "model"): DriverEvent {
  return { type: "turn.ended", reason: "failed", error: { code, message }, usage: null };
}

export function used(output: number, cost: number | null): DriverEvent {
  const usage = { input: 1, cache_read: 0, cache_write: 0, output, cost };
  return { type: "turn.ended", reason: "completed", error: null, usage };
}
