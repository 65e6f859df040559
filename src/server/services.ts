/** What the HTTP handlers need of the daemon. The composition root hands it over; the handlers add no logic. */
import type { AgentDetail, AgentDiagnostic, AgentSummary } from "../contract/agent.ts";
import type { ApiOutput, Harness, Status } from "../contract/api.ts";
import type { Ask, AskAnswer, AskStatus } from "../contract/ask.ts";
import type { CommandOutcome } from "../contract/command.ts";
import type { Event } from "../contract/event.ts";
import type { Brief, Broadcast, GroupResult, GroupView, Replies } from "../contract/group.ts";
import type { AskId, BroadcastId, FiringId, MessageId, RunId, SessionId, TaskId, TurnId } from "../contract/ids.ts";
import type { Attachment, Message, MessageStatus, Receipt, Sender } from "../contract/message.ts";
import type { PluginDetail, PluginView } from "../contract/plugin.ts";
import type { Run, RunStatus, RunView, Step, WorkflowView } from "../contract/run.ts";
import type { Firing, FiringStatus, ScheduleEntry, ScheduleView } from "../contract/schedule.ts";
import type { AskPolicy, Session, SessionView, TitleSource } from "../contract/session.ts";
import type { InstalledSkillView, InstallOutcome, RegistryDetail, SkillScope } from "../contract/skill-install.ts";
import type {
  KillOutcome,
  PooledAgentView,
  SubagentStatus,
  SubagentView,
  Tree,
  TreeBudgetView,
} from "../contract/subagent.ts";
import type { Attempt, CancelOutcome, QueueSettings, QueueView, TaskStatus, TaskView } from "../contract/task.ts";
import type { Turn } from "../contract/turn.ts";
import type { StreamItem } from "../runtime/events/stream-item.ts";

export type Services = {
  agents: AgentService;
  sessions: SessionService;
  inbox: InboxService;
  attachments: AttachmentService;
  asks: AskService;
  queues: QueueService;
  subagents: SubagentService;
  pool: PoolService;
  groups: GroupService;
  broadcasts: BroadcastService;
  workflows: WorkflowService;
  skills: SkillService;
  skillInstall: SkillInstallService;
  door: DoorService;
  plugins: PluginService;
  commands: CommandService;
  schedules: ScheduleService;
  events: EventService;
  status(): Promise<Status>;
  harnesses(signal: AbortSignal): Promise<Harness[]>;
  config(): Promise<ApiOutput<"config">>;
  reloadConfig(): Promise<ApiOutput<"reloadConfig">>;
  /** Begins to stop; returns before the daemon is gone. */
  shutdown(options: { force: boolean }): void;
};

export interface AgentService {
  list(): AgentSummary[];
  diagnostics(): AgentDiagnostic[];
  /** By name or `plugin:name`. Throws `not_found` with the nearest one. */
  describe(reference: string): AgentDetail;
}

export interface SessionService {
  create(input: {
    agent?: string | undefined;
    handle?: string | undefined;
    title?: string | undefined;
    prompt?: string | undefined;
    ask_policy?: AskPolicy | undefined;
  }): Promise<{ session: SessionView; receipt: Receipt | null }>;
  /** By id or handle. Throws `not_found` with the nearest live handle. */
  resolve(reference: string): Promise<Pick<Session, "id" | "handle" | "harness">>;
  /** Throws when the session's harness cannot fork, or there is nothing to begin with. */
  fork(
    id: SessionId,
    input: { handle?: string | undefined; title?: string | undefined; prompt?: string | undefined },
  ): Promise<{ session: SessionView; receipt: Receipt | null }>;
  view(id: SessionId, client: string): Promise<SessionView>;
  list(filter: { closed: boolean; client: string }): Promise<SessionView[]>;
  rename(id: SessionId, handle: string): Promise<void>;
  setTitle(id: SessionId, title: string, source: TitleSource): Promise<void>;
  close(id: SessionId, reason: string): Promise<MessageId[]>;
  /** False when no turn was under way. */
  interrupt(id: SessionId): Promise<boolean>;
  markSeen(id: SessionId, client: string, seq: number): Promise<number>;
  turns(id: SessionId, limit: number): Promise<Turn[]>;
  turn(id: TurnId): Promise<Turn>;
}

export interface AskService {
  list(filter: { status: AskStatus; limit: number }): Promise<Ask[]>;
  get(id: AskId): Promise<Ask>;
  /** Throws `conflict` when it is settled, or when the digest names another action. */
  answer(id: AskId, answer: AskAnswer, digest?: string | undefined): Promise<Ask>;
}

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

export interface InboxService {
  admit(input: {
    id?: MessageId | undefined;
    session: SessionId;
    sender: Sender;
    body: string;
    attachments?: readonly Attachment[];
    interrupt?: boolean;
    steer?: boolean;
  }): Promise<Receipt>;
  /** Takes a message back before a turn has it. Throws `conflict` when it is too late. */
  cancel(id: MessageId): Promise<Message>;
  get(id: MessageId): Promise<Message>;
  list(session: SessionId, filter: { status?: MessageStatus | undefined; limit: number }): Promise<Message[]>;
}

/** Where a person's messages come in; those that a skill calls for another agent are passed on to it. */
export type DoorService = Pick<SessionService, "create"> & Pick<InboxService, "admit">;

export interface SkillService {
  list(query: { agent?: string | undefined; all: boolean }, signal: AbortSignal): Promise<ApiOutput<"listSkills">>;
  search(
    query: { query: string; agent?: string | undefined; limit: number },
    signal: AbortSignal,
  ): Promise<ApiOutput<"searchSkills">["skills"]>;
  /** Throws `not_found` with the nearest name. */
  show(name: string, signal: AbortSignal): Promise<ApiOutput<"getSkill">["skill"]>;
}

type InstallChoice = { scope: SkillScope; force: boolean; accept: string | null };

export interface SkillInstallService {
  /** Throws `forbidden` for what is malicious or not what it should be, `conflict` for what would be lost. */
  install(
    request: InstallChoice & { source: string; name: string | null; askFirst: boolean },
    signal: AbortSignal,
  ): Promise<InstallOutcome>;
  update(name: string, options: InstallChoice, signal: AbortSignal): Promise<InstallOutcome>;
  remove(name: string, options: Omit<InstallChoice, "accept">, signal: AbortSignal): Promise<InstalledSkillView>;
  list(): Promise<InstalledSkillView[]>;
  search(query: string, limit: number, signal: AbortSignal): Promise<ApiOutput<"searchRegistry">>;
  info(name: string, signal: AbortSignal): Promise<RegistryDetail>;
}

export interface AttachmentService {
  /** Throws when the session's agent cannot see them, or one is no image or too large. */
  keep(
    session: Pick<Session, "handle" | "harness">,
    uploads: readonly { name: string; data: string }[],
  ): Promise<Attachment[]>;
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

export interface EventService {
  lastSeq(): Promise<number>;
  list(query: { after: number; limit: number; session?: SessionId | undefined }): Promise<Event[]>;
  /** A session's events before a number, newest page, in order. */
  history(
    session: SessionId,
    query: { before?: number | undefined; limit: number },
  ): Promise<{ events: Event[]; more: boolean }>;
  /**
   * Every event after `after` once and in order, first from the store, then as they happen. Ends when the signal
   * aborts, or with `SlowSubscriberError` when the reader falls too far behind; it resumes from the last number it saw.
   */
  subscribe(options: {
    after: number;
    session?: SessionId | undefined;
    live: boolean;
    signal: AbortSignal;
  }): AsyncIterable<StreamItem>;
}

export interface PluginService {
  list(): PluginView[];
  /** Throws `not_found` with the nearest name. */
  get(name: string): PluginDetail;
  /** The one that is named is loaded anew in any case. */
  reload(name: string | null): Promise<PluginView[]>;
}

export interface CommandService {
  list(): Promise<ApiOutput<"listCommands">>;
  /** By name or `plugin:name`. Throws `not_found` with the nearest one, and `forbidden` for one that is not trusted. */
  run(
    input: { name: string; arguments: string; session?: string | undefined },
    signal: AbortSignal,
  ): Promise<CommandOutcome>;
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
