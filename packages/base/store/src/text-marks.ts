/**
 * Marks the fields of a row that may contain a secret, and how they are redacted. A text field without a mark does not
 * compile, so every new column needs a decision.
 */
import type { Ask } from "@aegis/contract/ask.ts";
import type { Broadcast, BroadcastMember, Group } from "@aegis/contract/group.ts";
import type { Landing } from "@aegis/contract/landing.ts";
import type { Message } from "@aegis/contract/message.ts";
import type { Firing } from "@aegis/contract/schedule.ts";
import type { PooledAgent } from "@aegis/contract/subagent.ts";
import type { Attempt, Task } from "@aegis/contract/task.ts";
import type { Worktree } from "@aegis/contract/worktree.ts";
import type { NewBoundary } from "./copy-tables.ts";
import type {
  AskSettlement,
  ChannelInboxRow,
  ChannelOutboxRow,
  ChannelPeer,
  ClientRow,
  FileWriteRow,
  QueueRow,
  ReceiptRow,
  RunRow,
  ScheduleRow,
  SessionRow,
  SignalRow,
  StepRow,
  SubagentRow,
  TurnRow,
} from "./store.ts";

/**
 * `text` is redacted when it is written. `later` is needed unchanged until its row has ended, and redacted then.
 * `whole` stays unchanged, because the row is compared with it or resumed from it. `name` is an identifier used for
 * lookups.
 */
export type Mark = "text" | "later" | "whole" | "name";

export type Marks<Row> = { readonly [K in keyof Row as HoldsText<Row[K]> extends true ? K : never]-?: Mark };

/** Ids, enumerations and numbers cannot hold text: their values come from Aegis. */
type HoldsText<V> = unknown extends V
  ? true
  : string extends V
    ? true
    : [Exclude<V, string | number | boolean | null | undefined>] extends [never]
      ? false
      : true;

export const sessionMarks: Marks<SessionRow> = {
  handle: "name",
  agent: "name",
  harness: "name",
  node: "name",
  nodes: "name",
  title: "text",
  error: "text",
  resume: "name",
  limits: "name",
  fork_point: "name",
};

/** A harness receives the image file, not the name that the sender gave it. */
export const messageMarks: Marks<Message> = {
  sender: "name",
  body: "later",
  sent: "later",
  attachments: "text",
};

export const turnMarks: Marks<TurnRow> = { error: "text", text: "text", usage: "name", handed_over: "name" };

/** The subject of an ask records what a person decided about. */
export const askMarks: Marks<Ask> = {
  question: "whole",
  reason: "whole",
  tool: "name",
  detail: "whole",
  changes: "whole",
  cwd: "name",
  origin: "name",
  options: "whole",
  digest: "name",
  answer: "later",
  settled_by: "text",
  settled_reason: "text",
};

export const settlementMarks: Marks<AskSettlement> = { answer: "later", by: "text", reason: "text" };

export const queueMarks: Marks<QueueRow> = { name: "name", settings: "name" };

export const taskMarks: Marks<Task> = {
  queue: "name",
  payload: "later",
  starter: "name",
  result: "text",
  error: "text",
};

export const attemptMarks: Marks<Attempt> = { queue: "name", error: "text" };

export const groupMarks: Marks<Group> = { name: "name", reducer: "name" };

/** A repeated request is compared with the brief. */
export const broadcastMarks: Marks<Broadcast> = {
  sender: "name",
  objective: "whole",
  output_format: "whole",
  tool_guidance: "whole",
  boundaries: "whole",
  members: "name",
};

export const memberMarks: Marks<BroadcastMember> = { handle: "name", error: "text" };

/** A run is resumed, retried and forked from its arguments. */
export const runMarks: Marks<RunRow> = {
  workflow: "name",
  args: "whole",
  starter: "name",
  code: "name",
  phase: "text",
  parked: "text",
  result: "text",
  error: "text",
  owner: "name",
};

/** A recorded step returns or throws the same value on replay. */
export const stepMarks: Marks<StepRow> = {
  scope: "name",
  method: "name",
  label: "text",
  error: "text",
  key: "name",
  begun: "whole",
  result: "whole",
  failure: "whole",
};

/** A signal's value is the result of the step that received it. */
export const signalMarks: Marks<SignalRow> = { key: "name", name: "name", value: "whole" };

/** A repeated request is compared with the task. */
export const subagentMarks: Marks<SubagentRow> = {
  run_id: "name",
  agent: "name",
  label: "name",
  task: "whole",
  model: "name",
  result: "text",
  error: "text",
};

export const poolMarks: Marks<PooledAgent> = {
  key: "name",
  plugin: "name",
  slug: "name",
  config_hash: "name",
  lease: "name",
};

/** A schedule's definition is in the project's files; a claimed firing starts from its own copy. */
export const scheduleMarks: Marks<ScheduleRow> = { name: "name", settings: "whole" };

export const firingMarks: Marks<Firing> = {
  schedule: "name",
  action: "whole",
  effect: "name",
  stopping: "text",
  result: "text",
  error: "text",
};

/** Trees and folders identify content; git needs them unchanged. */
export const boundaryMarks: Marks<NewBoundary> = {
  folder: "name",
  tree: "name",
  head: "name",
  problem: "text",
  detail: "text",
};

export const worktreeMarks: Marks<Omit<Worktree, "session" | "created_at">> = {
  base_ref: "name",
  base: "name",
  target: "name",
  dir: "name",
  branch: "name",
  repository: "name",
  problem: "text",
};
/** A changed path would name another file. */
export const fileWriteMarks: Marks<FileWriteRow> = { path: "name", hash: "name" };
export const clientMarks: Marks<ClientRow> = { name: "name", token_hash: "name" };

/** The check is run again after a crash. */
export const landingMarks: Marks<Landing> = {
  target: "name",
  check: "whole",
  old: "name",
  tip: "name",
  next: "name",
  tree: "name",
  files: "name",
  detail: "text",
};

export const receiptMarks: Marks<ReceiptRow> = {
  scope: "name",
  subject: "name",
  command: "text",
  tree: "name",
  head: "name",
  tail: "text",
  counts: "name",
  changed: "text",
  problem: "text",
};

/** The payload is removed when it has been handled. */
export const channelInboxMarks: Marks<ChannelInboxRow> = {
  channel: "name",
  key: "name",
  payload: "whole",
  error: "text",
};

export const channelOutboxMarks: Marks<ChannelOutboxRow> = {
  channel: "name",
  key: "name",
  place: "name",
  body: "text",
  external_id: "name",
  error: "text",
};

export const channelPeerMarks: Marks<ChannelPeer> = { channel: "name", peer: "name", name: "text", place: "name" };
