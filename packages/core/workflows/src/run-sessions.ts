/** Lists the sessions that work for a run: those it started, the members of its groups and the workers of its tasks. */
import type { AskId, MessageId, RunId, SessionId, TaskId } from "@aegis/contract/ids.ts";
import type { StepRow, StoreReads } from "@aegis/store/store.ts";

/** The recorded result of `spawnGroup`. */
export type SpawnedGroup = {
  group: string;
  /** The requested members. */
  agents?: string[] | { preset: string };
  members: { handle: string; session: SessionId }[];
};

export async function groupsOf(read: Pick<StoreReads, "steps">, run: RunId): Promise<SpawnedGroup[]> {
  const steps = await read.steps.list(run, { methods: ["spawnGroup"] });
  return steps.flatMap(({ begun, result }) => {
    const text = result ?? begun;
    return text === null ? [] : [JSON.parse(text) as SpawnedGroup];
  });
}

/** What a step has recorded at its start that it waits for: an answer, a task, or the reply to a message. */
type WaitsFor = { ask?: AskId; task?: TaskId; message?: MessageId };

const waitingMethods: readonly string[] = ["askHuman", "delegate", "send"];

export function waitsFor({ method, begun }: Pick<StepRow, "method" | "begun">): WaitsFor {
  return waitingMethods.includes(method) && begun !== null ? (JSON.parse(begun) as WaitsFor) : {};
}

/** In start order, those of tasks last. */
export async function sessionsOf(read: StoreReads, run: RunId): Promise<SessionId[]> {
  const members = (await groupsOf(read, run)).flatMap((group) => group.members.map(({ session }) => session));
  return [...new Set([...(await read.steps.sessions(run)), ...members, ...(await workersOf(read, run))])];
}

async function workersOf(read: StoreReads, run: RunId): Promise<SessionId[]> {
  const steps = await read.steps.list(run, { methods: ["delegate"] });
  const tasks = await Promise.all(
    steps.map((step) => {
      const { task } = waitsFor(step);
      return task === undefined ? null : read.tasks.get(task);
    }),
  );
  return tasks.flatMap((task) => task?.worker ?? []);
}
