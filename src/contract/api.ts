/** What goes into and comes out of each route. Server, client types and `/openapi.json` are all made from this table. */
import { z } from "zod";
import { agentEndpoints } from "./api-agents.ts";
import { askEndpoints } from "./api-asks.ts";
import { commandEndpoints } from "./api-commands.ts";
import { groupEndpoints } from "./api-groups.ts";
import { messageEndpoints } from "./api-messages.ts";
import { count, type Endpoint, flag, messageText, none, sessionPath, storableText } from "./api-parts.ts";
import { pluginEndpoints } from "./api-plugins.ts";
import { queueEndpoints } from "./api-queues.ts";
import { scheduleEndpoints } from "./api-schedules.ts";
import { skillInstallEndpoints } from "./api-skill-install.ts";
import { skillEndpoints } from "./api-skills.ts";
import { subagentEndpoints } from "./api-subagents.ts";
import { workflowEndpoints } from "./api-workflows.ts";
import { type Event, eventSchemas } from "./event.ts";
import { receiptSchema } from "./message.ts";
import type { RouteName } from "./routes.ts";
import { messageIdSchema, sessionIdSchema, turnIdSchema } from "./schema-ids.ts";
import { askPolicySchema, handleMaxLength, handlePattern, sessionViewSchema, titleMaxLength } from "./session.ts";
import { turnSchema } from "./turn.ts";

export { sendMessageSchema } from "./api-messages.ts";
export { type Endpoint, tooLarge } from "./api-parts.ts";

/** Events on the wire: `seq` orders them, `type` says what `data` holds. */
export const eventSchema = z.union(
  Object.entries(eventSchemas).map(([type, data]) =>
    z.object({
      seq: z.number().int(),
      at: z.number(),
      type: z.literal(type),
      session: sessionIdSchema.nullable(),
      data,
    }),
  ),
) as unknown as z.ZodType<Event>;

export const statusSchema = z.object({
  version: z.string(),
  pid: z.number().int(),
  url: z.string(),
  project: z.string(),
  started_at: z.number(),
  state: z.enum(["running", "stopping"]),
  default_agent: z.string(),
  /** Why that agent is the default. */
  agent_choice: z.string(),
  offline: z.boolean(),
  sessions: z.object({
    ready: z.number().int(),
    working: z.number().int(),
    error: z.number().int(),
    closed: z.number().int(),
  }),
  pending_messages: z.number().int(),
  last_seq: z.number().int(),
  memory_bytes: z.number().int(),
  store: z.object({ path: z.string(), bytes: z.number().int(), schema: z.number().int(), writable: z.boolean() }),
  /** What of the project's files has no effect until its user agrees to it. */
  untrusted: z.array(z.string()),
  /** Problems in the config files that keep an edit from taking effect. */
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

export const createSessionSchema = z.object({
  agent: z.string().optional().describe("an agent's name; the default agent when absent"),
  handle: z
    .string()
    .max(handleMaxLength)
    .regex(handlePattern, "expected two or three lower-case words joined by dashes, as in lucid-knuth")
    .optional(),
  title: storableText.max(titleMaxLength).optional(),
  prompt: messageText.optional().describe("a first message"),
  ask_policy: askPolicySchema.default("wait").describe("deny: nobody is there to answer what the agent asks"),
});

export const forkSessionSchema = createSessionSchema.pick({ handle: true, title: true, prompt: true });

export const updateSessionSchema = z.object({
  handle: createSessionSchema.shape.handle,
  title: storableText.max(titleMaxLength).optional().describe("an empty string clears it"),
});

export const endpoints = {
  health: {
    summary: "Whether the daemon answers",
    path: none,
    query: none,
    body: none,
    output: z.object({ ok: z.literal(true), name: z.literal("aegis") }),
  },
  openapi: { summary: "This table as OpenAPI 3.1", path: none, query: none, body: none, output: z.unknown() },
  status: { summary: "The daemon and what it holds", path: none, query: none, body: none, output: statusSchema },
  shutdown: {
    summary: "Stop the daemon; `force` cuts turns at once",
    path: none,
    query: none,
    body: z.object({ force: z.boolean().default(false) }),
    output: z.object({ stopping: z.literal(true) }),
  },
  config: {
    summary: "The resolved configuration, without secrets",
    path: none,
    query: none,
    body: none,
    output: z.object({ files: z.array(z.string()), config: z.unknown(), problems: z.array(z.string()) }),
  },
  reloadConfig: {
    summary: "Read the config files again",
    path: none,
    query: none,
    body: none,
    output: z.object({ ok: z.boolean(), problems: z.array(z.string()) }),
  },
  ...agentEndpoints,
  listHarnesses: {
    summary: "The harnesses Aegis can drive, and whether they are installed",
    path: none,
    query: none,
    body: none,
    output: z.object({ harnesses: z.array(harnessSchema) }),
  },
  listSessions: {
    summary: "Sessions, newest first",
    path: none,
    query: z.object({ closed: flag, client: z.string().max(64).default("default") }),
    body: none,
    output: z.object({ sessions: z.array(sessionViewSchema) }),
  },
  createSession: {
    summary: "Start a session of an agent",
    path: none,
    query: none,
    body: createSessionSchema,
    output: z.object({ session: sessionViewSchema, receipt: receiptSchema.nullable() }),
  },
  getSession: {
    summary: "One session",
    path: sessionPath,
    query: z.object({ client: z.string().max(64).default("default") }),
    body: none,
    output: z.object({ session: sessionViewSchema }),
  },
  updateSession: {
    summary: "Rename a session or set its title",
    path: sessionPath,
    query: none,
    body: updateSessionSchema,
    output: z.object({ session: sessionViewSchema }),
  },
  closeSession: {
    summary: "Close a session: its turn is cut, its waiting messages are refused",
    path: sessionPath,
    query: none,
    body: none,
    output: z.object({ session: sessionViewSchema, refused: z.array(messageIdSchema) }),
  },
  interruptSession: {
    summary: "Cut the turn under way; waiting messages become the next turn",
    path: sessionPath,
    query: none,
    body: none,
    output: z.object({ interrupted: z.boolean() }),
  },
  forkSession: {
    summary: "Start another session that begins with what this one remembers",
    path: sessionPath,
    query: none,
    body: forkSessionSchema,
    output: z.object({ session: sessionViewSchema, receipt: receiptSchema.nullable() }),
  },
  markSeen: {
    summary: "Remember how far a client has read",
    path: sessionPath,
    query: none,
    body: z.object({ client: z.string().min(1).max(64).default("default"), seq: z.number().int().min(0) }),
    output: z.object({ unseen: z.number().int() }),
  },
  ...messageEndpoints,
  history: {
    summary: "What happened in a session, oldest first; page back with `before`",
    path: sessionPath,
    query: z.object({ before: z.coerce.number().int().min(1).optional(), limit: count(1000, 200) }),
    body: none,
    output: z.object({ events: z.array(eventSchema), more: z.boolean() }),
  },
  listTurns: {
    summary: "Turns of a session, newest first",
    path: sessionPath,
    query: z.object({ limit: count(500, 50) }),
    body: none,
    output: z.object({ turns: z.array(turnSchema) }),
  },
  getTurn: {
    summary: "One turn and how it ended",
    path: z.object({ turn: turnIdSchema }),
    query: none,
    body: none,
    output: z.object({ turn: turnSchema }),
  },
  ...askEndpoints,
  ...queueEndpoints,
  ...groupEndpoints,
  ...subagentEndpoints,
  ...workflowEndpoints,
  ...skillEndpoints,
  ...skillInstallEndpoints,
  ...pluginEndpoints,
  ...commandEndpoints,
  ...scheduleEndpoints,
  listEvents: {
    summary: "Events after a number, as one page",
    path: none,
    query: z.object({
      after: z.coerce.number().int().min(0).default(0),
      limit: count(1000, 500),
      session: sessionIdSchema.optional(),
    }),
    body: none,
    output: z.object({ events: z.array(eventSchema), last_seq: z.number().int() }),
  },
  streamEvents: {
    summary: "Events after a number and from then on, as server-sent events; resumes with Last-Event-ID",
    path: none,
    query: z.object({
      after: z.coerce.number().int().min(0).optional(),
      session: sessionIdSchema.optional(),
      live: flag.describe("also send text deltas, which are not stored"),
    }),
    body: none,
    output: z.unknown(),
  },
} satisfies Record<RouteName, Endpoint>;

type Endpoints = typeof endpoints;
export type ApiPath<N extends RouteName> = z.input<Endpoints[N]["path"]>;
export type ApiQuery<N extends RouteName> = z.input<Endpoints[N]["query"]>;
export type ApiBody<N extends RouteName> = z.input<Endpoints[N]["body"]>;
export type ApiOutput<N extends RouteName> = z.output<Endpoints[N]["output"]>;
/** What a handler gets: validated, defaults filled in. */
export type ApiRequest<N extends RouteName> = {
  path: z.output<Endpoints[N]["path"]>;
  query: z.output<Endpoints[N]["query"]>;
  body: z.output<Endpoints[N]["body"]>;
};
export type Status = z.infer<typeof statusSchema>;
export type Harness = z.infer<typeof harnessSchema>;
