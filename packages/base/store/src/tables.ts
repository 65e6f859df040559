/** All tables of the store. Each is one file beside this one, and one line here. */
import type { Redact } from "@aegis/lib/redact.ts";
import { RowWriter, type RowWriterOptions } from "./sql/row-writer.ts";
import type { ReadSql, Sql } from "./sql/sql.ts";
import { AskReads, AskWrites } from "./tables/asks.ts";
import { BlobReads, BlobWrites } from "./tables/blobs.ts";
import { BoundaryReads, BoundaryWrites } from "./tables/boundaries.ts";
import { BroadcastReads, BroadcastWrites } from "./tables/broadcasts.ts";
import { ChannelReads, ChannelWrites } from "./tables/channels.ts";
import { ClientReads, ClientWrites } from "./tables/clients.ts";
import { EventReads, EventWrites } from "./tables/events.ts";
import { FileWriteReads, FileWriteWrites } from "./tables/file-writes.ts";
import { FiringReads, FiringWrites } from "./tables/firings.ts";
import { GroupReads, GroupWrites } from "./tables/groups.ts";
import { LandingReads, LandingWrites } from "./tables/landings.ts";
import { MessageReads, MessageWrites } from "./tables/messages.ts";
import { NodeReads, NodeWrites } from "./tables/nodes.ts";
import { PoolReads, PoolWrites } from "./tables/pool.ts";
import { QueueReads, QueueWrites } from "./tables/queues.ts";
import { ReceiptReads, ReceiptWrites } from "./tables/receipts.ts";
import { RunReads, RunWrites } from "./tables/runs.ts";
import { ScheduleReads, ScheduleWrites } from "./tables/schedules.ts";
import { SeenReads, SeenWrites } from "./tables/seen.ts";
import { SessionReads, SessionWrites } from "./tables/sessions.ts";
import { SignalReads, SignalWrites } from "./tables/signals.ts";
import { StepReads, StepWrites } from "./tables/steps.ts";
import { SubagentReads, SubagentWrites } from "./tables/subagents.ts";
import { TaskReads, TaskWrites } from "./tables/tasks.ts";
import { TurnReads, TurnWrites } from "./tables/turns.ts";
import { WorktreeReads, WorktreeWrites } from "./tables/worktrees.ts";

const tables = {
  sessions: { reads: SessionReads, writes: SessionWrites },
  messages: { reads: MessageReads, writes: MessageWrites },
  turns: { reads: TurnReads, writes: TurnWrites },
  events: { reads: EventReads, writes: EventWrites },
  seen: { reads: SeenReads, writes: SeenWrites },
  asks: { reads: AskReads, writes: AskWrites },
  queues: { reads: QueueReads, writes: QueueWrites },
  tasks: { reads: TaskReads, writes: TaskWrites },
  groups: { reads: GroupReads, writes: GroupWrites },
  broadcasts: { reads: BroadcastReads, writes: BroadcastWrites },
  runs: { reads: RunReads, writes: RunWrites },
  steps: { reads: StepReads, writes: StepWrites },
  signals: { reads: SignalReads, writes: SignalWrites },
  subagents: { reads: SubagentReads, writes: SubagentWrites },
  pool: { reads: PoolReads, writes: PoolWrites },
  schedules: { reads: ScheduleReads, writes: ScheduleWrites },
  firings: { reads: FiringReads, writes: FiringWrites },
  boundaries: { reads: BoundaryReads, writes: BoundaryWrites },
  worktrees: { reads: WorktreeReads, writes: WorktreeWrites },
  clients: { reads: ClientReads, writes: ClientWrites },
  landings: { reads: LandingReads, writes: LandingWrites },
  receipts: { reads: ReceiptReads, writes: ReceiptWrites },
  channels: { reads: ChannelReads, writes: ChannelWrites },
  fileWrites: { reads: FileWriteReads, writes: FileWriteWrites },
  nodes: { reads: NodeReads, writes: NodeWrites },
  blobs: { reads: BlobReads, writes: BlobWrites },
};

type Tables = typeof tables;
type TableName = keyof Tables;

export type StoreReads = { readonly [Name in TableName]: InstanceType<Tables[Name]["reads"]> };

export type StoreTx = { readonly [Name in TableName]: InstanceType<Tables[Name]["writes"]> } & {
  /** The same tables. They redact what they write, as their columns specify. */
  redacting(redact: Redact): StoreTx;
};

export function createReads(sql: ReadSql): StoreReads {
  const made = Object.entries(tables).map(([name, { reads }]) => [name, new reads(sql)]);
  return Object.fromEntries(made) as StoreReads;
}

/** Each table is made when it is first asked for: most units use two or three. */
export function createTables(sql: Sql, options: RowWriterOptions = {}): StoreTx {
  const writer = new RowWriter(sql, options);
  const { scrub } = options;
  const redacting = (redact: Redact) => createTables(sql, scrub === undefined ? { redact } : { redact, scrub });
  const made: { [name: string | symbol]: unknown } = { redacting };
  const isTable = (name: string | symbol): name is TableName => Object.hasOwn(tables, name);
  const get = (_: object, name: string | symbol) => {
    if (isTable(name)) made[name] ??= new tables[name].writes(writer);
    return made[name];
  };
  return new Proxy(made, { get }) as StoreTx;
}
