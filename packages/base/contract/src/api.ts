/** Inputs and outputs of each route. The server, the client types and `/openapi.json` are generated from this table. */
import { z } from "zod";
import { agentEndpoints } from "./api-agents.ts";
import { askEndpoints } from "./api-asks.ts";
import { channelEndpoints } from "./api-channels.ts";
import { clientEndpoints } from "./api-clients.ts";
import { commandEndpoints } from "./api-commands.ts";
import { copyEndpoints } from "./api-copies.ts";
import { groupEndpoints } from "./api-groups.ts";
import { messageEndpoints } from "./api-messages.ts";
import { nodeEndpoints } from "./api-nodes.ts";
import {
  count,
  type Endpoint,
  endpoint,
  flag,
  messageText,
  sessionPath,
  storableText,
  storeLossSchema,
} from "./api-parts.ts";
import { pluginEndpoints } from "./api-plugins.ts";
import { queueEndpoints } from "./api-queues.ts";
import { scheduleEndpoints } from "./api-schedules.ts";
import { skillEndpoints } from "./api-skills.ts";
import { subagentEndpoints } from "./api-subagents.ts";
import { usageEndpoints } from "./api-usage.ts";
import { webEndpoints } from "./api-web.ts";
import { workflowEndpoints } from "./api-workflows.ts";
import { auditSchema } from "./audit.ts";
import { channelSchema } from "./channel.ts";
import { type Event, eventSchemas } from "./event.ts";
import { messageSchema, receiptSchema } from "./message.ts";
import { needSchema } from "./need.ts";
import { requiredLabelsSchema } from "./node.ts";
import { missingGateSchema } from "./plugin.ts";
import type { RouteName } from "./routes.ts";
import { messageIdSchema, sessionIdSchema, turnIdSchema } from "./schema-ids.ts";
import {
  askPolicySchema,
  handleExpected,
  handleMaxLength,
  handlePattern,
  needsYouSchema,
  sessionViewSchema,
  titleMaxLength,
} from "./session.ts";
import { turnSchema, usageTotalSchema } from "./turn.ts";
import { baseRefExpected, baseRefMaxLength, baseRefPattern, isolationSchema } from "./worktree.ts";

export { sendMessageSchema } from "./api-messages.ts";
export { type Endpoint, tooLarge } from "./api-parts.ts";

/**
 * Events on the wire: `seq` orders them, `type` determines the shape of `data`. Built with its first use: it takes a
 * megabyte, and a daemon needs it only to describe its API.
 */
export const eventSchema: z.ZodType<Event> = z.lazy(
  () =>
    z.union(
      Object.entries(eventSchemas).map(([type, data]) =>
        z.object({
          seq: z.int(),
          at: z.number(),
          type: z.literal(type),
          session: sessionIdSchema.nullable(),
          data,
        }),
      ),
    ) as unknown as z.ZodType<Event>,
);

/** What a PostgreSQL server says about itself. */
export const databaseSchema = z.object({
  version: z.string(),
  role: z.string(),
  /** The median time of a round trip. */
  latency_ms: z.number(),
  /** How far the server's clock is ahead of the daemon's. */
  clock_difference_ms: z.number(),
  /** The server's default. Aegis never commits with `off`. */
  synchronous_commit: z.string(),
  /** Empty if no standby confirms commits. */
  synchronous_standbys: z.string(),
  fsync: z.boolean(),
  standby: z.boolean(),
  read_only: z.boolean(),
  /** The size of the whole database, with all projects. */
  bytes: z.int(),
  connections: z.object({ used: z.int(), most: z.int() }),
});
export type DatabaseFacts = z.infer<typeof databaseSchema>;

export const statusSchema = z.object({
  version: z.string(),
  pid: z.int(),
  url: z.string(),
  project: z.string(),
  started_at: z.number(),
  state: z.enum(["running", "stopping"]),
  default_agent: z.string(),
  /** Why this agent is the default. */
  agent_choice: z.string(),
  offline: z.boolean(),
  sessions: z.object({
    ready: z.int(),
    working: z.int(),
    error: z.int(),
    closed: z.int(),
  }),
  pending_messages: z.int(),
  /** The usage of all turns of the open sessions; null if no turn recorded any. */
  usage: usageTotalSchema.nullable(),
  /** Sessions that wait for a person, longest wait first. */
  needs_you: z.array(
    needsYouSchema.extend({ session: sessionIdSchema, handle: z.string(), title: z.string().default("") }),
  ),
  /** Everything that waits for a person: asks first, then failed work, then work that is ready to land. */
  needs: z.array(needSchema).default([]),
  last_seq: z.int(),
  memory_bytes: z.int(),
  store: z.object({
    path: z.string(),
    bytes: z.int(),
    schema: z.int(),
    writable: z.boolean(),
    /** The server of a project with a cluster; null for an embedded database. */
    database: databaseSchema.nullable().default(null),
    /** Databases of this project that were lost and not restored, oldest first. */
    losses: z.array(storeLossSchema),
  }),
  /** Parts of the project's files that have no effect until the user trusts them. */
  untrusted: z.array(z.string()),
  /**
   * Items that need a person's attention, by kind and name: not trusted, changed since they were trusted, or failed.
   * Also covers plugins and command pages.
   */
  attention: z.object({
    untrusted: z.array(z.string()),
    changed: z.array(z.string()),
    failed: z.array(z.string()),
  }),
  /** The number of plugins that are still being loaded. Calls of their hooks, tools and workflows wait for them. */
  plugins_loading: z.int(),
  /**
   * Gates of plugins that are not loaded as recorded. The calls that they guarded are refused until a person decides.
   */
  missing_gates: z.array(missingGateSchema),
  /** The configured channels and their state. */
  channels: z.array(channelSchema),
  /** Problems in the config files that prevent an edit from taking effect. */
  config_problems: z.array(z.string()),
});

export const harnessSchema = z.object({
  harness: z.string(),
  status: z.enum(["ready", "missing", "broken"]),
  version: z.string().nullable(),
  path: z.string().nullable(),
  detail: z.string(),
  fix: z.string().nullable(),
});

const modelName = storableText.min(1).max(200);

export const createSessionSchema = z.object({
  agent: z.string().optional().describe("an agent's name; default: the default agent"),
  handle: z.string().max(handleMaxLength).regex(handlePattern, handleExpected).optional(),
  title: storableText.max(titleMaxLength).optional(),
  prompt: messageText.optional().describe("a first message"),
  model: modelName.optional().describe("a model to use instead of the agent's"),
  ask_policy: askPolicySchema
    .default("wait")
    .describe("deny: reject every ask of the agent, because no person is available"),
  isolation: isolationSchema
    .optional()
    .describe("worktree: work in its own git worktree; default: the agent's setting"),
  nodes: requiredLabelsSchema
    .optional()
    .describe("labels that its node must have, besides those of its agent; only in a cluster"),
  base: z
    .string()
    .max(baseRefMaxLength)
    .regex(baseRefPattern, baseRefExpected)
    .optional()
    .describe("what the worktree starts from: a branch, a tag, a commit, or dirty; default: HEAD"),
});

export const forkSessionSchema = createSessionSchema.pick({ handle: true, title: true, prompt: true });

export const updateSessionSchema = z.object({
  handle: createSessionSchema.shape.handle,
  title: storableText.max(titleMaxLength).optional().describe("an empty string clears it"),
  agent: z.string().optional().describe("another agent; refused with 409 once the session has had a turn"),
  model: modelName
    .nullable()
    .optional()
    .describe("the model from the next turn on, instead of the agent's; null selects the agent's again"),
});

export const endpoints = {
  health: endpoint("Check that the daemon responds", {
    output: z.object({ ok: z.literal(true), name: z.literal("aegis") }),
  }),
  openapi: endpoint("This table as OpenAPI 3.1", { output: z.unknown() }),
  status: endpoint("Get the status of the daemon", { output: statusSchema }),
  shutdown: endpoint("Stop the daemon; `force` ends turns immediately", {
    body: z.object({ force: z.boolean().default(false) }),
    output: z.object({ stopping: z.literal(true) }),
  }),
  audit: endpoint("Get the audit: who may do what, what the user has trusted, and what should be fixed", {
    output: z.object({ audit: auditSchema }),
  }),
  config: endpoint("Get the resolved configuration, without secrets", {
    output: z.object({ files: z.array(z.string()), config: z.unknown(), problems: z.array(z.string()) }),
  }),
  reloadConfig: endpoint("Reload the config files", {
    output: z.object({ ok: z.boolean(), problems: z.array(z.string()) }),
  }),
  ...agentEndpoints,
  listHarnesses: endpoint("List the harnesses, and whether they are installed", {
    output: z.object({ harnesses: z.array(harnessSchema) }),
  }),
  listSessions: endpoint("List sessions, newest first", {
    query: z.object({ closed: flag, client: z.string().max(64).default("default") }),
    output: z.object({ sessions: z.array(sessionViewSchema) }),
  }),
  createSession: endpoint("Start a session of an agent", {
    body: createSessionSchema,
    output: z.object({ session: sessionViewSchema, receipt: receiptSchema.nullable() }),
  }),
  getSession: endpoint("Get one session", {
    path: sessionPath,
    query: z.object({ client: z.string().max(64).default("default") }),
    output: z.object({ session: sessionViewSchema }),
  }),
  updateSession: endpoint("Rename a session, set its title, or change its agent or model", {
    path: sessionPath,
    body: updateSessionSchema,
    output: z.object({ session: sessionViewSchema }),
  }),
  closeSession: endpoint("Close a session, end its turn and refuse its pending messages", {
    path: sessionPath,
    output: z.object({ session: sessionViewSchema, refused: z.array(messageIdSchema) }),
  }),
  interruptSession: endpoint("Interrupt the current turn; pending messages start the next turn", {
    path: sessionPath,
    output: z.object({ interrupted: z.boolean() }),
  }),
  forkSession: endpoint("Fork a session: start a new session with its history", {
    path: sessionPath,
    body: forkSessionSchema,
    output: z.object({ session: sessionViewSchema, receipt: receiptSchema.nullable() }),
  }),
  markSeen: endpoint("Store how far a client has read", {
    path: sessionPath,
    body: z.object({ client: z.string().min(1).max(64).default("default"), seq: z.int().min(0) }),
    output: z.object({ unseen: z.int() }),
  }),
  ...messageEndpoints,
  ...copyEndpoints,
  history: endpoint("List the events of a session, oldest first; page back with `before`", {
    path: sessionPath,
    query: z.object({ before: z.coerce.number().int().min(1).optional(), limit: count(1000, 200) }),
    output: z.object({
      events: z.array(eventSchema),
      more: z.boolean(),
      messages: z
        .array(messageSchema)
        .describe("messages that turns of these events took, and whose admission is an older event"),
    }),
  }),
  listTurns: endpoint("List the turns of a session, newest first", {
    path: sessionPath,
    query: z.object({ limit: count(500, 50) }),
    output: z.object({ turns: z.array(turnSchema) }),
  }),
  getTurn: endpoint("Get one turn and its outcome", {
    path: z.object({ turn: turnIdSchema }),
    output: z.object({ turn: turnSchema }),
  }),
  ...askEndpoints,
  ...queueEndpoints,
  ...groupEndpoints,
  ...subagentEndpoints,
  ...nodeEndpoints,
  ...workflowEndpoints,
  ...skillEndpoints,
  ...pluginEndpoints,
  ...commandEndpoints,
  ...clientEndpoints,
  ...scheduleEndpoints,
  ...webEndpoints,
  ...channelEndpoints,
  ...usageEndpoints,
  listEvents: endpoint("List events after a sequence number, one page at a time", {
    query: z.object({
      after: z.coerce.number().int().min(0).default(0),
      limit: count(1000, 500),
      session: sessionIdSchema.optional(),
    }),
    output: z.object({ events: z.array(eventSchema), last_seq: z.int() }),
  }),
  streamEvents: endpoint("Stream events after a sequence number as server-sent events; resumes with Last-Event-ID", {
    query: z.object({
      after: z.coerce.number().int().min(0).optional(),
      session: sessionIdSchema.optional(),
      live: flag.describe("also send text deltas, which are not stored"),
    }),
    output: z.unknown(),
  }),
} satisfies Record<RouteName, Endpoint>;

type Endpoints = typeof endpoints;
export type ApiPath<N extends RouteName> = z.input<Endpoints[N]["path"]>;
export type ApiQuery<N extends RouteName> = z.input<Endpoints[N]["query"]>;
export type ApiBody<N extends RouteName> = z.input<Endpoints[N]["body"]>;
export type ApiOutput<N extends RouteName> = z.output<Endpoints[N]["output"]>;
/** What a handler receives: validated input with defaults applied. */
export type ApiRequest<N extends RouteName> = {
  path: z.output<Endpoints[N]["path"]>;
  query: z.output<Endpoints[N]["query"]>;
  body: z.output<Endpoints[N]["body"]>;
};
export type Status = z.infer<typeof statusSchema>;
export type Harness = z.infer<typeof harnessSchema>;
