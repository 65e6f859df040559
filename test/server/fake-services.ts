/** Services in memory behind a real server: sessions that only remember what was asked of them, and a real event hub. */
import type { Status } from "../../src/contract/api.ts";
import { AegisError } from "../../src/contract/errors.ts";
import { type MessageId, newId } from "../../src/contract/ids.ts";
import type { Message } from "../../src/contract/message.ts";
import type { SessionView } from "../../src/contract/session.ts";
import type { Turn } from "../../src/contract/turn.ts";
import { EventHub, type HubLimits } from "../../src/runtime/events/hub.ts";
import { publicSession } from "../../src/runtime/sessions/rows.ts";
import type { Services } from "../../src/server/services.ts";
import { sessionRow } from "../helpers/rows.ts";
import { MemoryEvents, sessionA } from "../runtime/events/memory-events.ts";

export type FakeServices = Services & {
  store: MemoryEvents;
  hub: EventHub;
  calls: { name: string; input: unknown }[];
  messages: Map<MessageId, Message>;
  turnsById: Map<string, Turn>;
};

export const sessionView: SessionView = {
  ...publicSession(sessionRow({ id: sessionA, handle: "lucid-knuth", agent: "coder", created_at: 1 })),
  pending: 0,
  unseen: 0,
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
  last_seq: 0,
  memory_bytes: 1,
  store: { path: "db", bytes: 1, schema: 1, writable: true },
  untrusted: [],
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
  const services: Omit<FakeServices, "door"> = {
    store,
    hub,
    calls,
    messages,
    turnsById,
    events: hub,
    sessions: {
      async create(input) {
        note("create", input);
        return { session: { ...sessionView, title: input.title ?? "" }, receipt: null };
      },
      async resolve(reference) {
        if (reference === sessionView.id || reference === sessionView.handle) return sessionView;
        throw new AegisError("not_found", `no session '${reference}'`, { hint: "did you mean lucid-knuth?" });
      },
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
    subagents: {
      list: async () => [],
      view: async (run) => noSubagent(run),
      killRun: async (run) => noSubagent(run),
      trees: async () => ({
        budget: { agents: 20, spawns: 200, minutes: null, output_tokens: null, usd: null },
        trees: [],
      }),
    },
    pool: { max: 15, list: async () => [] },
    skills: {
      list: async () => ({
        skills: [],
        diagnostics: [],
        catalog: { skills: 0, characters: 0, shortened: 0, name_only: 0, left_out: 0 },
      }),
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
    },
    inbox: {
      async admit(input) {
        note("admit", input);
        const id = input.id ?? newId("msg", 1);
        return {
          message: id,
          session: input.session,
          handle: "lucid-knuth",
          outcome: "landed",
          position: 0,
          duplicate: false,
          text: "landed at lucid-knuth",
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
      runs: { list: async () => [], view: notThere, steps: async () => [], events: async () => [] },
    },
    commands: { list: async () => ({ commands: [], diagnostics: [] }), run: notThere },
    plugins: {
      list: () => [],
      get(name) {
        throw new AegisError("not_found", `no plugin "${name}"`);
      },
      reload: async () => [],
    },
    schedules: {
      list: async () => [],
      held: () => [],
      view: notThere,
      add: notThere,
      remove: notThere,
      setEnabled: notThere,
      run: notThere,
      next: notThere,
      firings: async () => [],
      firing: notThere,
    },
    status: async () => status,
    agents: {
      list: () => [],
      diagnostics: () => [],
      describe: (reference) => {
        throw new AegisError("not_found", `no agent "${reference}"`);
      },
    },
    harnesses: async () => [],
    config: async () => ({ files: [], config: {}, problems: [] }),
    reloadConfig: async () => ({ ok: true, problems: [] }),
    shutdown(input) {
      note("shutdown", input);
    },
  };
  // Nothing is passed on here: what comes in by the door goes where it was sent.
  const door: FakeServices["door"] = {
    create: (input) => services.sessions.create(input),
    admit: (input) => services.inbox.admit(input),
  };
  return { ...services, door };
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
