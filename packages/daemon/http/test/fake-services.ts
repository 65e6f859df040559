/** Services in memory behind a real server: sessions that only remember what was asked of them, and a real event hub. */
import type { Status } from "@aegis/contract/api.ts";
import { AegisError } from "@aegis/contract/errors.ts";
import { type MessageId, newId } from "@aegis/contract/ids.ts";
import { mergeQueueName } from "@aegis/contract/landing.ts";
import type { Message } from "@aegis/contract/message.ts";
import type { SessionView } from "@aegis/contract/session.ts";
import type { Turn } from "@aegis/contract/turn.ts";
import { EventHub, type HubLimits } from "@aegis/events/hub.ts";
import { publicSession } from "@aegis/sessions/rows.ts";
import { sessionRow } from "@aegis/test/helpers/rows.ts";
import { MemoryEvents, sessionA } from "../../../base/events/test/memory-events.ts";
import type { Services } from "../src/app.ts";
import { WebAccess } from "../src/web/access.ts";

export type FakeServices = Services & {
  store: MemoryEvents;
  hub: EventHub;
  calls: { name: string; input: unknown }[];
  messages: Map<MessageId, Message>;
  turnsById: Map<string, Turn>;
};

/** The credential of the client "cursor". */
export const clientToken = `aegis-client-${"x".repeat(43)}`;

const row = sessionRow({ id: sessionA, handle: "lucid-hertz", agent: "coder", created_at: 1 });

export const sessionView: SessionView = {
  ...publicSession(row),
  pending: 0,
  unseen: 0,
  needs_you: null,
  usage: null,
  context: null,
  agent_problem: null,
  worktree: null,
  model: null,
  last_turn_at: null,
  changes: null,
};

const status: Status = {
  version: "1.2.3",
  pid: 1,
  url: "http://127.0.0.1:1",
  project: "/project",
  started_at: 1,
  state: "running",
  default_agent: "coder",
  agent_choice: "configured",
  offline: true,
  sessions: { ready: 1, working: 0, error: 0, closed: 0 },
  pending_messages: 0,
  usage: null,
  needs_you: [],
  needs: [],
  last_seq: 0,
  memory_bytes: 1,
  store: { path: "db", bytes: 1, schema: 1, writable: true, database: null, losses: [] },
  plugins_loading: 0,
  missing_gates: [],
  channels: [],
  untrusted: [],
  attention: { untrusted: [], changed: [], failed: [] },
  config_problems: [],
};

export function fakeServices(limits: Partial<HubLimits> = {}): FakeServices {
  const store = new MemoryEvents();
  const hub = new EventHub(store, limits);
  const calls: FakeServices["calls"] = [];
  const messages = new Map<MessageId, Message>();
  const turnsById = new Map<string, Turn>();
  const note = (name: string, input: unknown) => calls.push({ name, input });
  const getMessage = async (id: MessageId) => {
    const message = messages.get(id);
    if (message === undefined) throw new AegisError("not_found", `no message ${id}`);
    return message;
  };
  const services: FakeServices = {
    store,
    hub,
    calls,
    messages,
    turnsById,
    events: hub,
    clients: {
      nameOf: (token) => (token === clientToken ? "cursor" : null),
      list: () => [],
      async add(name) {
        note("addClient", { name });
        return { client: { name, created_at: 1, last_used_at: null }, token: clientToken };
      },
      async remove(name) {
        note("removeClient", { name });
        return { name, created_at: 1, last_used_at: null };
      },
      url: async () => "http://127.0.0.1:1/mcp",
    },
    web: new WebAccess({ clock: { now: Date.now }, store: { read: () => [], write: async () => {} } }),
    webUrl: async () => status.url,
    usage: async ({ by, bucket }) => ({ by, bucket, from: 0, to: 1, groups: [], others: null }),
    sessions: {
      async create(input) {
        note("create", input);
        return { session: { ...sessionView, title: input.title ?? "" }, receipt: null };
      },
      async resolve(reference) {
        if (reference === sessionView.id || reference === sessionView.handle) return row;
        throw new AegisError("not_found", `no session '${reference}'`, { hint: "did you mean lucid-hertz?" });
      },
      agentProblem: () => null,
      async fork(id, input) {
        note("fork", { id, ...input });
        return { session: { ...sessionView, forked_from: id }, receipt: null };
      },
      view: async () => sessionView,
      list: async () => [sessionView],
      async rename(id, handle) {
        note("rename", { id, handle });
      },
      async setTitle(id, title, source) {
        note("setTitle", { id, title, source });
      },
      async assign(id, change) {
        note("assign", { id, ...change });
      },
      async close(id, reason) {
        note("close", { id, reason });
        return [];
      },
      interrupt: async () => true,
      markSeen: async () => 0,
      turns: async () => [],
      async turn(id) {
        const turn = turnsById.get(id);
        if (turn === undefined) throw new AegisError("not_found", `no turn ${id}`);
        return turn;
      },
    },
    asks: {
      list: async () => [],
      async get(id) {
        throw new AegisError("not_found", `no ask ${id}`);
      },
      async answer(id, answer) {
        note("answer", { id, answer });
        throw new AegisError("not_found", `no ask ${id}`);
      },
    },
    shown: { ask: (ask) => ask, message: (message) => message, task: (task) => task },
    subagents: {
      list: async () => [],
      view: async (run) => noSubagent(run),
      killRun: async (run) => noSubagent(run),
      trees: async () => ({
        budget: { agents: 20, spawns: 200, minutes: null, output_tokens: null, usd: null },
        trees: [],
      }),
    },
    files: { find: async () => ["src/a.ts"] },
    changes: {
      async of() {
        throw new AegisError("not_found", "no changes here");
      },
    },
    worktrees: { list: async () => [], check: async () => {} },
    claims: { list: async () => [] },
    receipts: { list: async () => [] },
    mergeQueue: {
      list: async () => [],
      queue: async () => noQueue(mergeQueueName),
      pause: async () => noQueue(mergeQueueName),
      resume: async () => noQueue(mergeQueueName),
      drain: async () => noQueue(mergeQueueName),
    },
    landings: {
      list: async () => [],
      async cancel() {
        throw new AegisError("not_found", "no landing here");
      },
      async land() {
        throw new AegisError("invalid", "nothing to land here");
      },
    },
    removal: {
      async remove() {
        throw new AegisError("not_found", "no worktree here");
      },
    },
    rescues: {
      list: async () => [],
      prune: async () => [],
      async show(reference) {
        throw new AegisError("not_found", `no rescue "${reference}"`);
      },
      restore: async () => ({ dir: "/restored", branch: null }),
    },
    pool: { max: 15, list: async () => [] },
    nodes: null,
    remote: null,
    skills: {
      list: async () => ({
        skills: [],
        diagnostics: [],
        catalog: { skills: 0, characters: 0, shortened: 0, name_only: 0, left_out: 0 },
      }),
      holder: () => ({ skills: null }),
      search: async () => [],
      async show(name) {
        throw new AegisError("not_found", `no skill "${name}"`);
      },
    },
    skillInstall: {
      install: async ({ source }) => noSkill(source),
      update: async (name) => noSkill(name),
      remove: async (name) => noSkill(name),
      list: async () => [],
      search: async () => ({ registry: "http://127.0.0.1", skills: [] }),
      info: async (name) => noSkill(name),
    },
    queues: {
      list: async () => [],
      queue: async (name) => noQueue(name),
      add: async (name, settings) => {
        note("addQueue", { name, settings });
        return noQueue(name);
      },
      remove: async (name) => noQueue(name),
      pause: async (name) => noQueue(name),
      resume: async (name) => noQueue(name),
      drain: async (name) => noQueue(name),
      enqueue: async (input) => {
        note("enqueue", input);
        return noQueue(input.queue);
      },
      tasks: async () => [],
      task: async (id) => noTask(id),
      cancel: async (id) => ({ ok: false, error: `no task ${id}` }),
      retry: async (id) => noTask(id),
    },
    groups: {
      list: async () => [],
      view: async (name) => noGroup(name),
      async spawn(input) {
        note("spawnGroup", input);
        return noGroup(input.group);
      },
      dissolve: async (name) => noGroup(name),
    },
    broadcasts: {
      async send(input) {
        note("broadcast", input);
        return noGroup(input.group);
      },
      async get(id) {
        throw new AegisError("not_found", `no broadcast ${id}`);
      },
      async wait(input) {
        note("waitGroup", input);
        return noGroup(input.group);
      },
    },
    attachments: {
      async keep(_session, uploads) {
        return uploads.map(({ name }) => ({ kind: "image", name, media_type: "image/png", bytes: 1, sha256: "0" }));
      },
      read: async () => Buffer.from("image"),
    },
    inbox: {
      async admit(input) {
        note("admit", input);
        const id = input.id ?? newId("msg", 1);
        return {
          message: id,
          session: input.session,
          handle: "lucid-hertz",
          outcome: "landed",
          position: 0,
          duplicate: false,
          text: "landed at lucid-hertz",
        };
      },
      cancel: getMessage,
      get: getMessage,
      list: async () => [...messages.values()],
    },
    workflows: {
      list: () => [],
      get: (name) => {
        throw new AegisError("not_found", `no workflow "${name}"`);
      },
      start: notThere,
      resume: notThere,
      cancel: notThere,
      fork: notThere,
      launched: Promise.resolve(),
      runs: { list: async () => [], view: notThere, steps: async () => [], events: async () => [] },
    },
    commands: { list: async () => ({ commands: [], diagnostics: [] }), run: notThere },
    plugins: {
      list: () => [],
      missingGates: [],
      get(name) {
        throw new AegisError("not_found", `no plugin "${name}"`);
      },
      async reload(plugin) {
        note("reload", plugin);
        return [];
      },
      settled: async () => {},
    },
    channels: {
      list: async () => [],
      pair: async (channel) => ({ channel, code: "ABCD", link: null, expires_at: 1 }),
      unpair: async () => false,
      test: async () => "tested",
    },
    schedules: {
      list: async () => [],
      held: () => [],
      view: notThere,
      run: notThere,
      next: notThere,
      firings: async () => [],
      firing: notThere,
    },
    pluginChanges: {
      search: async () => ({ plugins: [], problems: [] }),
      installed: async () => [],
      install: notThere,
      update: notThere,
      remove: notThere,
    },
    why: notThere,
    scheduleFiles: { add: notThere, remove: notThere, setEnabled: notThere },
    status: async () => status,
    agents: {
      list: () => [],
      diagnostics: () => [],
      describe: (reference) => {
        throw new AegisError("not_found", `no agent "${reference}"`);
      },
      source: notThere,
      check: async () => [],
      save: notThere,
    },
    harnesses: async () => [],
    audit: async () => ({
      project: "/project",
      user: "ada",
      version: "1.2.3",
      open: [],
      agents: [],
      gates: [],
      plugins: [],
      queues: [],
      access: [],
      secrets: [],
      findings: [],
      network: {
        bind: "127.0.0.1",
        url: "http://127.0.0.1:1",
        skill_registry: "https://skills.example",
        allowed_hosts: [],
        models: [],
        plugin_registries: [],
        webhooks: [],
        channels: [],
      },
      state: { owner: "you", since: null, adopted: false },
      trust: { file: "/home/ada/.aegis/trust.json", always: false, dev: [], items: [] },
    }),
    config: async () => ({ files: [], config: {}, problems: [] }),
    async reloadConfig() {
      note("reloadConfig", null);
      return { ok: true, problems: [] };
    },
    ready: { isReached: true, reached: Promise.resolve() },
    shutdown(input) {
      note("shutdown", input);
    },
  };
  return services;
}

function noGroup(name: string): never {
  throw new AegisError("not_found", `no group "${name}"`);
}

async function notThere(): Promise<never> {
  throw new AegisError("not_found", "no such run");
}

function noQueue(name: string): never {
  throw new AegisError("not_found", `no queue "${name}"`);
}

function noTask(id: string): never {
  throw new AegisError("not_found", `no task ${id}`);
}

function noSubagent(run: string): never {
  throw new AegisError("not_found", `no subagent ${run}`);
}

function noSkill(name: string): never {
  throw new AegisError("not_found", `no skill "${name}"`);
}
