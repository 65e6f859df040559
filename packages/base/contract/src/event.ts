/** An event is a numbered, durable fact. One union covers the whole daemon, and `seq` orders all events. */
import { z } from "zod";
import { askAnswerSchema, askSchema, askStatusSchema } from "./ask.ts";
import { changeCountsSchema } from "./changes.ts";
import { claimRefusalSchema } from "./claim.ts";
import { briefSchema, broadcastMemberSchema, groupSchema, replyStatusSchema } from "./group.ts";
import { landingSchema } from "./landing.ts";
import { messageSchema } from "./message.ts";
import { checkReceiptSchema } from "./receipt.ts";
import { parkedSchema, runErrorSchema, runSchema, stepStatusSchema } from "./run.ts";
import { firingSchema, scheduleSettingsSchema } from "./schedule.ts";
import {
  askIdSchema,
  broadcastIdSchema,
  firingIdSchema,
  groupIdSchema,
  landingIdSchema,
  messageIdSchema,
  receiptIdSchema,
  runIdSchema,
  sessionIdSchema,
  taskIdSchema,
  turnIdSchema,
} from "./schema-ids.ts";
import { sessionSchema, sessionStateSchema, titleSourceSchema } from "./session.ts";
import { skillHowSchema } from "./skill.ts";
import { installedSkillSchema, skillScopeSchema } from "./skill-install.ts";
import { subagentRunIdSchema, subagentSchema } from "./subagent.ts";
import { queueSettingsSchema, taskSchema, taskStatusSchema } from "./task.ts";
import { turnErrorSchema, turnItemSchemas, turnReasonSchema, usageSchema } from "./turn.ts";
import { worktreeSchema } from "./worktree.ts";

const inTurn = { turn: turnIdSchema };
const ofQueue = { queue: z.string() };
const ofTask = { ...ofQueue, task: taskIdSchema };
const ofRun = { run: runIdSchema, workflow: z.string() };
const ofSchedule = { schedule: z.string() };
const ofGroup = { group: groupIdSchema, name: z.string() };
const ofBroadcast = { ...ofGroup, broadcast: broadcastIdSchema };
const ofPlugin = { plugin: z.string() };
const ofSubagent = { run_id: subagentRunIdSchema, label: z.string() };
const inGroup = broadcastMemberSchema.pick({ session: true, handle: true });

/** Maps each event type to its data. */
export const eventSchemas = {
  "daemon.started": z.object({ version: z.string(), pid: z.number() }),
  "daemon.stopping": z.object({ reason: z.string() }),
  "config.reloaded": z.object({ agents: z.array(z.string()), default_agent: z.string() }),
  "config.rejected": z.object({ problems: z.array(z.string()) }),

  /** A node joined the cluster, or joined it again. */
  "node.joined": z.object({ node: z.string(), incarnation: z.number() }),
  /** The lease of a node ended. `by` took over its work; sessions that cannot move stay with the lost node. */
  "node.lost": z.object({ node: z.string(), by: z.string(), moved: z.number(), away: z.number() }),
  "node.changed": z.object({ node: z.string(), state: z.enum(["draining", "resumed", "forgotten"]) }),

  /** A credential of an MCP client was issued or revoked. */
  "client.changed": z.object({ client: z.string(), state: z.enum(["added", "revoked"]) }),

  "session.created": z.object({ session: sessionSchema }),
  /** The session runs on another node from now on. */
  "session.moved": z.object({ node: z.string(), from: z.string().nullable() }),
  "session.renamed": z.object({ handle: z.string(), before: z.string() }),
  "session.titled": z.object({ title: z.string(), source: titleSourceSchema.nullable() }),
  /** The session's agent or model was changed. `model` replaces the agent's; null if the agent's applies. */
  "session.agent": z.object({
    ...sessionSchema.pick({ agent: true, harness: true, offline: true }).shape,
    model: z.string().nullable(),
  }),
  "session.state": z.object({ state: sessionStateSchema, error: z.string().nullable() }),
  "session.closed": z.object({ reason: z.string(), refused: z.array(messageIdSchema) }),
  /** The conversation restarts: the agent has lost everything said before. */
  "session.memory_lost": z.object({}),
  "session.notice": z.object({ level: z.enum(["info", "warning", "error"]), text: z.string() }),

  "message.admitted": z.object({ message: messageSchema }),
  "message.cancelled": z.object({ message: messageIdSchema }),
  /** `message_received` hooks changed the text before the agent received it. */
  "message.received": z.object({ message: messageIdSchema, body: z.string() }),
  /** The message joined the current turn instead of waiting for the next one. */
  "message.steered": z.object({ ...inTurn, message: messageIdSchema }),
  "message.redelivered": z.object({ message: messageIdSchema }),
  "message.lost": z.object({ message: messageIdSchema, reason: z.string() }),

  "ask.opened": z.object({ ask: askSchema }),
  "ask.settled": z.object({
    ask: askIdSchema,
    status: askStatusSchema.exclude(["open"]),
    answer: askAnswerSchema.nullable(),
    /** Who answered, and why it ended without an answer; absent in events of earlier versions. */
    by: z.string().nullable().optional(),
    reason: z.string().nullable().optional(),
  }),

  /** A call of a plane tool by any caller. The input is truncated. */
  "tool.called": z.object({
    tool: z.string(),
    outcome: z.enum(["ok", "error", "timeout"]),
    duration_ms: z.number(),
    input: z.string(),
    error: z.string().nullable(),
  }),

  "queue.added": z.object({ ...ofQueue, settings: queueSettingsSchema }),
  "queue.removed": z.object(ofQueue),
  "queue.paused": z.object(ofQueue),
  "queue.resumed": z.object(ofQueue),
  "task.enqueued": z.object({ ...ofQueue, task: taskSchema }),
  "task.dispatched": z.object({ ...ofTask, attempt: z.int(), worker: sessionIdSchema }),
  /** The worker's turn has ended, but the worker still waits for something, so the task continues. */
  "task.deferred": z.object({ ...ofTask, worker: sessionIdSchema, waiting_on: z.array(z.string()) }),
  /** The task waits again: an attempt failed, or the task was requeued on request. */
  "task.requeued": z.object({
    ...ofTask,
    reason: z.string(),
    failures: z.int(),
    not_before: z.number().nullable(),
  }),
  "task.ended": z.object({
    ...ofTask,
    status: taskStatusSchema.extract(["completed", "failed", "cancelled"]),
    result: z.string().nullable(),
    error: z.string().nullable(),
    /** `dropped`: the producer's session is closed. */
    callback: z.enum(["none", "delivered", "dropped"]),
    /** The receipt of its check; absent in events of earlier versions. */
    receipt: receiptIdSchema.nullable().optional(),
  }),

  "group.created": z.object({ group: groupSchema, members: z.array(inGroup) }),
  "group.joined": z.object({ ...ofGroup, members: z.array(inGroup) }),
  "group.broadcast": z.object({
    ...ofBroadcast,
    ...briefSchema.shape,
    members: z.array(broadcastMemberSchema.pick({ session: true, handle: true, message: true })),
  }),
  /** A member's reply is settled; `reply` is the turn with its text. */
  "group.replied": z.object({
    ...ofBroadcast,
    handle: z.string(),
    status: replyStatusSchema.exclude(["waiting"]),
    reply: turnIdSchema.nullable(),
    error: z.string().nullable(),
  }),
  "group.settled": z.object({ ...ofBroadcast, counts: z.record(replyStatusSchema, z.int()) }),
  "group.dissolved": z.object({ ...ofGroup, members: z.array(inGroup) }),

  "run.started": z.object({ ...ofRun, ...runSchema.pick({ args: true, host: true, forked_from: true }).shape }),
  /** The run resumed. `steps` is the number of recorded steps, which return immediately. */
  "run.resumed": z.object({ ...ofRun, steps: z.int(), phase: z.string().nullable() }),
  "run.step": z.object({
    ...ofRun,
    method: z.string(),
    label: z.string(),
    scope: z.string(),
    status: stepStatusSchema,
    error: z.string().nullable(),
    duration_ms: z.number(),
  }),
  "run.checkpoint": z.object({ ...ofRun, epoch: z.int(), name: z.string(), payload: z.unknown() }),
  /** `place` identifies the line, so that a replay does not write it twice. */
  "run.log": z.object({
    ...ofRun,
    level: z.enum(["info", "warning", "error"]),
    text: z.string(),
    place: z.string().nullable(),
  }),
  /** Output of a shell step. */
  "run.output": z.object({ ...ofRun, label: z.string(), stream: z.enum(["stdout", "stderr"]), text: z.string() }),
  "run.parked": z.object({ ...ofRun, ...parkedSchema.shape }),
  "run.ended": z.object({
    ...ofRun,
    status: z.enum(["ok", "error", "cancelled"]),
    /** Omitted if large; the run has it. */
    result: z.unknown(),
    error: runErrorSchema.nullable(),
    callback: z.enum(["none", "delivered", "dropped"]),
  }),

  "schedule.added": z.object({ ...ofSchedule, settings: scheduleSettingsSchema }),
  "schedule.changed": z.object({ ...ofSchedule, settings: scheduleSettingsSchema }),
  "schedule.removed": z.object(ofSchedule),
  /** A slot is claimed. Its firing is about to start, or waits for an earlier one. */
  "schedule.fired": z.object({ ...ofSchedule, firing: firingSchema }),
  /** A slot passed without a start; `error` of the firing states why. */
  "schedule.skipped": z.object({ ...ofSchedule, firing: firingSchema }),
  "schedule.started": z.object({ ...ofSchedule, firing: firingIdSchema, effect: z.string() }),
  "schedule.ended": z.object({
    ...ofSchedule,
    firing: firingIdSchema,
    ...firingSchema.pick({ result: true, error: true }).shape,
    status: z.enum(["ok", "error"]),
    duration_ms: z.number(),
  }),

  "plugin.loaded": z.object({ ...ofPlugin, version: z.string(), generation: z.int() }),
  "plugin.reloaded": z.object({ ...ofPlugin, version: z.string(), generation: z.int() }),
  /** `running`: the previous generation keeps running. */
  "plugin.failed": z.object({ ...ofPlugin, reason: z.string(), running: z.boolean() }),
  /** Its worker died and is being restarted. */
  "plugin.restarting": z.object({ ...ofPlugin, reason: z.string() }),
  "plugin.restored": z.object(ofPlugin),
  "plugin.removed": z.object(ofPlugin),
  /**
   * The plugin is not loaded as recorded. What its gates and strict hooks guarded is refused until a person decides.
   */
  "plugin.gates_missing": z.object({ ...ofPlugin, hooks: z.array(z.string()), reason: z.string() }),
  "plugin.gates_held": z.object(ofPlugin),

  /** Recorded in the parent's session, like the other subagent events. */
  "subagent.spawned": z.object({ subagent: subagentSchema }),
  "subagent.ended": z.object({
    ...ofSubagent,
    ...subagentSchema.pick({ session: true, result: true, error: true, announced_to: true, announcement: true }).shape,
    status: subagentSchema.shape.status.exclude(["running"]),
    /** The receipt of its check; absent in events of earlier versions. */
    receipt: receiptIdSchema.nullable().optional(),
  }),
  /**
   * The session that was notified of the end never read the notice, so another session was notified, or the same one
   * again.
   */
  "subagent.forwarded": z.object({
    ...ofSubagent,
    ...subagentSchema.pick({ announced_to: true, announcement: true }).shape,
  }),
  "subagent.archived": z.object(ofSubagent),

  /**
   * A third-party skill was installed or removed, for the session whose agent requested it, or for no session. The
   * lockfile is authoritative: a crash may lose the event, but not the skill.
   */
  "skill.installed": installedSkillSchema.omit({ installed_at: true }).extend({ scope: skillScopeSchema }),
  "skill.updated": installedSkillSchema.omit({ installed_at: true }).extend({ scope: skillScopeSchema }),
  "skill.removed": installedSkillSchema.pick({ name: true, source: true }).extend({ scope: skillScopeSchema }),

  /** Skill texts that the agent received, with the turn that they started; null if the agent loaded them itself. */
  "skill.given": z.object({
    opening: turnIdSchema.nullable(),
    skills: z.array(z.object({ name: z.string(), version: z.string(), how: skillHowSchema })),
  }),
  /**
   * Recorded in the session that the message was sent to: the skill belongs to another agent, whose session received
   * the message.
   */
  "skill.routed": z.object({
    message: messageIdSchema,
    skill: z.string(),
    agent: z.string(),
    to: sessionIdSchema,
    handle: z.string(),
  }),

  "pool.leased": z.object({ key: z.string(), holder: sessionIdSchema, fresh: z.boolean() }),
  "pool.released": z.object({ key: z.string(), holder: sessionIdSchema }),
  "pool.evicted": z.object({ key: z.string(), reason: z.string() }),

  "turn.started": z.object({ ...inTurn, messages: z.array(messageIdSchema), spontaneous: z.boolean() }),
  "turn.accepted": z.object(inTurn),
  "turn.text": turnItemSchemas.text.extend(inTurn),
  "turn.thinking": turnItemSchemas.thinking.extend(inTurn),
  "turn.tool_call": turnItemSchemas.tool_call.extend(inTurn),
  "turn.tool_result": turnItemSchemas.tool_result.extend(inTurn),
  "turn.plan": turnItemSchemas.plan.extend(inTurn),
  "turn.usage": turnItemSchemas.usage.extend(inTurn),
  "turn.context": turnItemSchemas.context.extend(inTurn),
  "turn.compaction": turnItemSchemas.compaction.extend(inTurn),
  "turn.mode": turnItemSchemas.mode.extend(inTurn),
  "turn.notice": turnItemSchemas.notice.extend(inTurn),
  "turn.raw": turnItemSchemas.raw.extend(inTurn),
  "turn.memory": turnItemSchemas.memory.extend(inTurn),
  /** The session has a worktree. `left_out` counts files of the project with uncommitted changes, which it lacks. */
  "worktree.ready": worktreeSchema
    .pick({ dir: true, branch: true, base: true, port: true })
    .extend({ left_out: z.int() }),
  "worktree.failed": z.object({ problem: z.string() }),
  "worktree.removed": z.object({ dir: z.string().nullable(), reason: z.string() }),
  /** The files of a worktree were stored before it is removed. */
  "rescue.saved": z.object({ ref: z.string(), files: z.int(), reason: z.string() }),
  /** They could not be stored, so nothing was removed. */
  "rescue.failed": z.object({ problem: z.string() }),
  /** An edit or a claim was refused. `by` is the handle of the session that holds or wrote the file, if one did. */
  "claim.refused": z.object({
    tool: z.string(),
    path: z.string(),
    why: claimRefusalSchema,
    by: z.string().nullable(),
  }),
  /** A landing waits in the merge queue, or has begun. */
  "land.queued": landingSchema.pick({ target: true, how: true, check: true }).extend({ landing: landingIdSchema }),
  "land.started": landingSchema.pick({ target: true }).extend({ landing: landingIdSchema }),
  /** The result of a landing. */
  "land.ended": landingSchema
    .pick({ target: true, state: true, files: true, detail: true })
    .extend({ landing: landingIdSchema }),
  /** The daemon ran a check on the work of the session. */
  "receipt.recorded": z.object({ receipt: checkReceiptSchema }),
  /** Recorded just before the end of a turn in a git project. */
  "changes.recorded": changeCountsSchema.extend({
    ...inTurn,
    problem: z.string().nullable(),
    /** The changes of all turns of the session. Absent after 200 turns, and in events of older versions. */
    total: changeCountsSchema.optional(),
  }),
  "turn.ended": z.object({
    ...inTurn,
    reason: turnReasonSchema,
    error: turnErrorSchema.nullable(),
    text: z.string(),
    usage: usageSchema.nullable(),
  }),
} as const;

export type EventType = keyof typeof eventSchemas;
export type EventData<T extends EventType = EventType> = z.infer<(typeof eventSchemas)[T]>;

/** An event before the store assigns its number. */
export type NewEvent = {
  [T in EventType]: { type: T; session: z.infer<typeof sessionIdSchema> | null; data: EventData<T> };
}[EventType];

export type Event = NewEvent & { seq: number; at: number };
export type EventOf<T extends EventType> = Extract<Event, { type: T }>;

/** Streamed but never stored. A client that misses it loses nothing, because an event with the whole text follows. */
export const liveDeltaSchema = z.object({
  type: z.enum(["text", "thinking"]),
  session: sessionIdSchema,
  turn: turnIdSchema,
  message: z.string(),
  /**
   * The number of preceding characters of this text. If a delta does not start where the last one ended, there is a
   * gap.
   */
  offset: z.int().nonnegative(),
  text: z.string(),
});
export type LiveDelta = z.infer<typeof liveDeltaSchema>;
