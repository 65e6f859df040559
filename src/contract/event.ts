/** An event is a numbered, durable fact. One union for the whole daemon, one order (`seq`). */
import { z } from "zod";
import { askAnswerSchema, askSchema, askStatusSchema } from "./ask.ts";
import { briefSchema, broadcastMemberSchema, groupSchema, replyStatusSchema } from "./group.ts";
import { messageSchema } from "./message.ts";
import { parkedSchema, runErrorSchema, runSchema, stepStatusSchema } from "./run.ts";
import { firingSchema, scheduleSettingsSchema } from "./schedule.ts";
import {
  askIdSchema,
  broadcastIdSchema,
  firingIdSchema,
  groupIdSchema,
  messageIdSchema,
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

/** Event type → what it carries. */
export const eventSchemas = {
  "daemon.started": z.object({ version: z.string(), pid: z.number() }),
  "daemon.stopping": z.object({ reason: z.string() }),
  "config.reloaded": z.object({ agents: z.array(z.string()), default_agent: z.string() }),
  "config.rejected": z.object({ problems: z.array(z.string()) }),

  "session.created": z.object({ session: sessionSchema }),
  "session.renamed": z.object({ handle: z.string(), before: z.string() }),
  "session.titled": z.object({ title: z.string(), source: titleSourceSchema.nullable() }),
  "session.state": z.object({ state: sessionStateSchema, error: z.string().nullable() }),
  "session.closed": z.object({ reason: z.string(), refused: z.array(messageIdSchema) }),
  "session.notice": z.object({ level: z.enum(["info", "warning", "error"]), text: z.string() }),

  "message.admitted": z.object({ message: messageSchema }),
  "message.cancelled": z.object({ message: messageIdSchema }),
  /** It joined a turn under way instead of waiting for the next. */
  "message.steered": z.object({ ...inTurn, message: messageIdSchema }),
  "message.redelivered": z.object({ message: messageIdSchema }),
  "message.lost": z.object({ message: messageIdSchema, reason: z.string() }),

  "ask.opened": z.object({ ask: askSchema }),
  "ask.settled": z.object({
    ask: askIdSchema,
    status: askStatusSchema.exclude(["open"]),
    answer: askAnswerSchema.nullable(),
  }),

  /** A call of a tool on the plane, whoever made it; what was given is cut short. */
  "tool.called": z.object({
    tool: z.string(),
    outcome: z.enum(["ok", "error"]),
    duration_ms: z.number(),
    input: z.string(),
    error: z.string().nullable(),
  }),

  "queue.added": z.object({ ...ofQueue, settings: queueSettingsSchema }),
  "queue.removed": z.object(ofQueue),
  "queue.paused": z.object(ofQueue),
  "queue.resumed": z.object(ofQueue),
  "task.enqueued": z.object({ ...ofQueue, task: taskSchema }),
  "task.dispatched": z.object({ ...ofTask, attempt: z.number().int(), worker: sessionIdSchema }),
  /** The worker's turn is over, but it still waits for something: the task goes on. */
  "task.deferred": z.object({ ...ofTask, worker: sessionIdSchema, waiting_on: z.array(z.string()) }),
  /** Waits again: a try failed, or somebody put the task back. */
  "task.requeued": z.object({
    ...ofTask,
    reason: z.string(),
    failures: z.number().int(),
    not_before: z.number().nullable(),
  }),
  "task.ended": z.object({
    ...ofTask,
    status: taskStatusSchema.extract(["completed", "failed", "cancelled"]),
    result: z.string().nullable(),
    error: z.string().nullable(),
    /** `dropped`: the producer's session is closed. */
    callback: z.enum(["none", "delivered", "dropped"]),
  }),

  "group.created": z.object({ group: groupSchema, members: z.array(inGroup) }),
  "group.joined": z.object({ ...ofGroup, members: z.array(inGroup) }),
  "group.broadcast": z.object({
    ...ofBroadcast,
    ...briefSchema.shape,
    members: z.array(broadcastMemberSchema.pick({ session: true, handle: true, message: true })),
  }),
  /** A member is settled; `reply` is the turn whose text it said. */
  "group.replied": z.object({
    ...ofBroadcast,
    handle: z.string(),
    status: replyStatusSchema.exclude(["waiting"]),
    reply: turnIdSchema.nullable(),
    error: z.string().nullable(),
  }),
  "group.settled": z.object({ ...ofBroadcast, counts: z.record(replyStatusSchema, z.number().int()) }),
  "group.dissolved": z.object({ ...ofGroup, members: z.array(inGroup) }),

  "run.started": z.object({ ...ofRun, ...runSchema.pick({ args: true, host: true, forked_from: true }).shape }),
  /** Taken up again; `steps` are on record and return at once. */
  "run.resumed": z.object({ ...ofRun, steps: z.number().int(), phase: z.string().nullable() }),
  "run.step": z.object({
    ...ofRun,
    method: z.string(),
    label: z.string(),
    scope: z.string(),
    status: stepStatusSchema,
    error: z.string().nullable(),
    duration_ms: z.number(),
  }),
  "run.checkpoint": z.object({ ...ofRun, epoch: z.number().int(), name: z.string(), payload: z.unknown() }),
  /** `place` names the line, so that a body that runs again does not write it twice. */
  "run.log": z.object({
    ...ofRun,
    level: z.enum(["info", "warning", "error"]),
    text: z.string(),
    place: z.string().nullable(),
  }),
  /** What a shell step wrote. */
  "run.output": z.object({ ...ofRun, label: z.string(), stream: z.enum(["stdout", "stderr"]), text: z.string() }),
  "run.parked": z.object({ ...ofRun, ...parkedSchema.shape }),
  "run.ended": z.object({
    ...ofRun,
    status: z.enum(["ok", "error", "cancelled"]),
    /** Left out when it is large: the run has it. */
    result: z.unknown(),
    error: runErrorSchema.nullable(),
    callback: z.enum(["none", "delivered", "dropped"]),
  }),

  "schedule.added": z.object({ ...ofSchedule, settings: scheduleSettingsSchema }),
  "schedule.changed": z.object({ ...ofSchedule, settings: scheduleSettingsSchema }),
  "schedule.removed": z.object(ofSchedule),
  /** A slot is claimed: it is about to be started, or waits for an earlier firing. */
  "schedule.fired": z.object({ ...ofSchedule, firing: firingSchema }),
  /** A slot passes without anything being started; `error` of the firing says why. */
  "schedule.skipped": z.object({ ...ofSchedule, firing: firingSchema }),
  "schedule.started": z.object({ ...ofSchedule, firing: firingIdSchema, effect: z.string() }),
  "schedule.ended": z.object({
    ...ofSchedule,
    firing: firingIdSchema,
    ...firingSchema.pick({ result: true, error: true }).shape,
    status: z.enum(["ok", "error"]),
    duration_ms: z.number(),
  }),

  "plugin.loaded": z.object({ ...ofPlugin, version: z.string(), generation: z.number().int() }),
  "plugin.reloaded": z.object({ ...ofPlugin, version: z.string(), generation: z.number().int() }),
  /** `running`: the generation before goes on. */
  "plugin.failed": z.object({ ...ofPlugin, reason: z.string(), running: z.boolean() }),
  /** Its worker died and is started again. */
  "plugin.restarting": z.object({ ...ofPlugin, reason: z.string() }),
  "plugin.restored": z.object(ofPlugin),
  "plugin.removed": z.object(ofPlugin),

  /** Of the parent, as are the others of subagents. */
  "subagent.spawned": z.object({ subagent: subagentSchema }),
  "subagent.ended": z.object({
    ...ofSubagent,
    ...subagentSchema.pick({ session: true, result: true, error: true, announced_to: true, announcement: true }).shape,
    status: subagentSchema.shape.status.exclude(["running"]),
  }),
  /** Whoever was told of the end never read it: somebody else was told, or it was told again. */
  "subagent.forwarded": z.object({
    ...ofSubagent,
    ...subagentSchema.pick({ announced_to: true, announcement: true }).shape,
  }),
  "subagent.archived": z.object(ofSubagent),

  /**
   * What came from elsewhere is in place, or gone; of the session whose agent wanted it, or of none. The lockfile is the
   * record: a crash in between may lose the event, not the skill.
   */
  "skill.installed": installedSkillSchema.omit({ installed_at: true }).extend({ scope: skillScopeSchema }),
  "skill.updated": installedSkillSchema.omit({ installed_at: true }).extend({ scope: skillScopeSchema }),
  "skill.removed": installedSkillSchema.pick({ name: true, source: true }).extend({ scope: skillScopeSchema }),

  /** Texts of skills that the agent was given, with the turn that began with them; null when it loaded them itself. */
  "skill.given": z.object({
    opening: turnIdSchema.nullable(),
    skills: z.array(z.object({ name: z.string(), version: z.string(), how: skillHowSchema })),
  }),
  /** Of the session the message was sent to: a skill is for another agent, so that agent's session has it now. */
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

/** An event before the store numbers it. */
export type NewEvent = {
  [T in EventType]: { type: T; session: z.infer<typeof sessionIdSchema> | null; data: EventData<T> };
}[EventType];

export type Event = NewEvent & { seq: number; at: number };
export type EventOf<T extends EventType> = Extract<Event, { type: T }>;

/** What streams but is never stored: a client that missed it loses nothing, the whole text follows as an event. */
export const liveDeltaSchema = z.object({
  type: z.enum(["text", "thinking"]),
  session: sessionIdSchema,
  turn: turnIdSchema,
  message: z.string(),
  /** Characters of this text that came before: a delta that does not begin where the last one ended follows a gap. */
  offset: z.int().nonnegative(),
  text: z.string(),
});
export type LiveDelta = z.infer<typeof liveDeltaSchema>;
