/** What the HTTP handlers need of the daemon. The composition root hands it over; the handlers add no logic. */
import type { AgentDetail, AgentDiagnostic, AgentSummary } from "../contract/agent.ts";
import type { ApiOutput, Harness, Status } from "../contract/api.ts";
import type { Ask, AskAnswer, AskStatus } from "../contract/ask.ts";
import type { CommandOutcome } from "../contract/command.ts";
import type { Event } from "../contract/event.ts";
import type { AskId, MessageId, SessionId, TurnId } from "../contract/ids.ts";
import type { Attachment, Message, MessageStatus, Receipt, Sender } from "../contract/message.ts";
import type { PluginDetail, PluginView } from "../contract/plugin.ts";
import type { AskPolicy, Session, SessionView, TitleSource } from "../contract/session.ts";
import type { InstalledSkillView, InstallOutcome, RegistryDetail, SkillScope } from "../contract/skill-install.ts";
import type { Turn } from "../contract/turn.ts";
import type { StreamItem } from "../runtime/events/stream-item.ts";
import type {
  BroadcastService,
  GroupService,
  PoolService,
  QueueService,
  ScheduleService,
  SubagentService,
  WorkflowService,
} from "./teamwork-services.ts";

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
