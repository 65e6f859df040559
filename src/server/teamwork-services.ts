/** What the HTTP handlers need of the ways in which sessions work together. */
import type { Event } from "../contract/event.ts";
import type { Brief, Broadcast, GroupResult, GroupView, Replies } from "../contract/group.ts";
import type { BroadcastId, FiringId, RunId, SessionId, TaskId } from "../contract/ids.ts";
import type { Sender } from "../contract/message.ts";
import type { Run, RunStatus, RunView, Step, WorkflowView } from "../contract/run.ts";
import type { Firing, FiringStatus, ScheduleEntry, ScheduleView } from "../contract/schedule.ts";
import type {
  KillOutcome,
  PooledAgentView,
  SubagentStatus,
  SubagentView,
  Tree,
  TreeBudgetView,
} from "../contract/subagent.ts";
import type { Attempt, CancelOutcome, QueueSettings, QueueView, TaskStatus, TaskView } from "../contract/task.ts";

export interface QueueService {
  list(): Promise<QueueView[]>;
  /** Throws `not_found` with the nearest name. */
  queue(name: string): Promise<QueueView>;
  /** Throws `conflict` when there is a queue of that name. */
  add(name: string, settings: QueueSettings): Promise<QueueView>;
  /** Gives the tasks it cancelled. Throws `conflict` when it is declared in the config, or has tasks and no force. */
  remove(name: string, options: { force: boolean }): Promise<TaskId[]>;
  pause(name: string): Promise<QueueView>;
  resume(name: string): Promise<QueueView>;
  /** True when no unfinished task is left, false when the time was over first. */
  drain(name: string, limits: { signal: AbortSignal; timeoutMs: number }): Promise<boolean>;
  enqueue(input: {
    queue: string;
    payload: string;
    id?: TaskId | undefined;
    producer: SessionId | null;
    callback: boolean;
  }): Promise<{ task: TaskView; queued_position: number; duplicate: boolean }>;
  tasks(filter: { queue?: string | undefined; status?: TaskStatus | undefined; limit: number }): Promise<TaskView[]>;
  task(id: TaskId): Promise<{ task: TaskView; attempts: Attempt[] }>;
  cancel(id: TaskId): Promise<CancelOutcome>;
  /** Throws `conflict` when the task has not failed. */
  retry(id: TaskId): Promise<TaskView>;
}

export interface SubagentService {
  list(filter: { status?: SubagentStatus | undefined; archived: boolean; limit: number }): Promise<SubagentView[]>;
  /** Throws `not_found`. */
  view(runId: string): Promise<SubagentView>;
  /** Ends it and everything below it; what had ended before stays as it is. */
  killRun(runId: string): Promise<KillOutcome>;
  trees(): Promise<{ budget: TreeBudgetView; trees: Tree[] }>;
}

export interface PoolService {
  readonly max: number;
  list(): Promise<PooledAgentView[]>;
}

export interface GroupService {
  list(): Promise<GroupView[]>;
  /** Throws `not_found` with the nearest name. */
  view(name: string): Promise<GroupView>;
  /** Exactly one of `agents` and `preset` is given. */
  spawn(input: {
    group: string;
    agents?: readonly string[] | undefined;
    preset?: string | undefined;
    handle?: string | undefined;
  }): Promise<{ group: GroupView; handles: string[] }>;
  dissolve(name: string): Promise<{ group: string; closed: string[] }>;
}

export interface BroadcastService {
  /** Throws `conflict` while an earlier broadcast of the group is open. */
  send(input: Brief & { id?: BroadcastId | undefined; group: string; sender: Sender }): Promise<Broadcast>;
  get(id: BroadcastId): Promise<{ broadcast: Broadcast; by_member: Replies }>;
  wait(
    wait: {
      group: string;
      mode: "all" | "any";
      timeout?: number | undefined;
      reducer?: string | undefined;
      cancel_losers?: boolean | undefined;
      broadcast?: BroadcastId | undefined;
    },
    signal: AbortSignal,
  ): Promise<GroupResult>;
}

export interface WorkflowService {
  list(): WorkflowView[];
  /** Throws `not_found` with the nearest name. */
  get(name: string): WorkflowView;
  /** Throws `invalid` with everything that is wrong with the arguments. */
  start(request: {
    workflow: string;
    id?: RunId | undefined;
    args: Record<string, unknown>;
    textArgs: Record<string, string | string[]>;
    host: SessionId | null;
    callback: boolean;
    within?: RunId | undefined;
  }): Promise<Run>;
  resume(reference: string, options: { force: boolean }): Promise<Run>;
  cancel(reference: string, reason: string): Promise<Run>;
  fork(reference: string, options: { id?: RunId | undefined; checkpoints?: number | undefined }): Promise<Run>;
  /** By id, or by the end of one that no other run has. */
  runs: {
    list(filter: { workflow?: string | undefined; status?: RunStatus | undefined; limit: number }): Promise<Run[]>;
    view(reference: string): Promise<RunView>;
    steps(reference: string, limit: number): Promise<Step[]>;
    events(reference: string, page: { after: number; limit: number }): Promise<Event[]>;
  };
}

export interface ScheduleService {
  list(): Promise<ScheduleView[]>;
  /** Those of the files that have no effect, because nobody has agreed to them. */
  held(): { name: string; reason: string }[];
  /** Throws `not_found` with the nearest name. */
  view(name: string): Promise<ScheduleView>;
  /** Each change says which file of the project it was made in. Throws `invalid` with every problem. */
  add(name: string, entry: ScheduleEntry): Promise<ChangedFile>;
  remove(name: string): Promise<ChangedFile>;
  setEnabled(name: string, enabled: boolean): Promise<ChangedFile>;
  /** Throws `conflict` when an earlier firing is under way and overlaps are skipped. */
  run(name: string, request: { id?: FiringId | undefined }): Promise<Firing>;
  next(name: string, count: number): Promise<{ timezone: string; times: number[] }>;
  firings(filter: {
    schedule?: string | undefined;
    status?: FiringStatus | undefined;
    limit: number;
  }): Promise<Firing[]>;
  firing(id: FiringId): Promise<Firing>;
}

export type ChangedFile = { file: string; changed: boolean };
