/** A team at one moment, for pictures of the terminal app and tests of its views. */

import type { Card } from "@aegis/client/model/board.ts";
import { Transcript } from "@aegis/client/model/transcript.ts";
import type { AgentSummary } from "@aegis/contract/agent.ts";
import type { Status } from "@aegis/contract/api.ts";
import type { Ask } from "@aegis/contract/ask.ts";
import type { Event } from "@aegis/contract/event.ts";
import type { MessageId, RunId, SessionId, TaskId, TurnId } from "@aegis/contract/ids.ts";
import type { Message } from "@aegis/contract/message.ts";
import type { OpenNeed } from "@aegis/contract/need.ts";
import type { Step } from "@aegis/contract/run.ts";
import type { SessionView } from "@aegis/contract/session.ts";
import type { QueueView } from "@aegis/contract/task.ts";
import { emptyModel, type Model } from "@aegis/tui/model.ts";
import { message as messageRow, task as taskRow } from "./rows.ts";

/** 14:03:27 UTC. */
export const now = Date.UTC(2026, 10, 16, 14, 3, 27);
const at = (seconds: number) => now - seconds * 1_000;

const id = <T extends string>(prefix: string, name: string) => `${prefix}_01hz${name}` as T;
const lucid = id<SessionId>("ses", "lucid");
const wry = id<SessionId>("ses", "wry");
const brisk = id<SessionId>("ses", "brisk");
const keen = id<SessionId>("ses", "keen");
const reviewerSession = id<SessionId>("ses", "sub");

function session(change: Partial<Card> & Pick<SessionView, "id" | "handle" | "agent">): Card {
  return {
    harness: "claude-code",
    offline: false,
    title: "",
    title_source: null,
    state: "ready",
    error: null,
    parent: null,
    depth: 0,
    ask_policy: "wait",
    created_at: at(3_600),
    closed_at: null,
    forked_from: null,
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
    doing: null,
    said: null,
    last: null,
    active_at: at(3_600),
    ...change,
  };
}

const usage = (cost: number) => ({
  input: 0,
  cache_read: 0,
  cache_write: 0,
  output: 0,
  cost,
  turns: 1,
  cost_unknown: 0,
});

function event(type: Event["type"], seq: number, seconds: number, data: object): Event {
  return { seq, at: at(seconds), type, session: lucid, data } as Event;
}

const call = (name: string, kind: string, title: string, change: object = {}) => ({
  call: `${name}-${title}`,
  name,
  kind,
  title,
  input: {},
  locations: [],
  diff: null,
  parent: null,
  ...change,
});
const result = (of: string, output: string, change: object = {}) => ({
  call: of,
  output,
  is_error: false,
  diff: null,
  ...change,
});

const asked = messageRow(lucid, {
  id: id<MessageId>("msg", "one"),
  body: "fix admit() so that a retry is idempotent",
  status: "dispatched",
  admitted_at: at(73),
});
const waiting: Message = messageRow(lucid, {
  id: id<MessageId>("msg", "two"),
  body: "also look at the docs",
  admitted_at: at(20),
});

const turn = id<TurnId>("trn", "one");
const of = (type: Event["type"], seq: number, seconds: number, data: object) =>
  event(type, seq, seconds, { turn, ...data });

/** The conversation of the first session. */
export const sampleConversation: readonly Event[] = [
  event("message.admitted", 1, 73, { message: asked }),
  event("message.admitted", 2, 20, { message: waiting }),
  of("turn.started", 3, 72, { messages: [asked.id], spontaneous: false }),
  of(
    "turn.tool_call",
    4,
    70,
    call("read", "read", "src/inbox/admit.ts", { locations: [{ path: "src/inbox/admit.ts" }] }),
  ),
  of("turn.tool_result", 5, 69.9, result("read-src/inbox/admit.ts", "x\n".repeat(180))),
  of("turn.thinking", 6, 60, { message: "m1", text: "A second delivery finds the row of the first one. ".repeat(12) }),
  of("turn.text", 7, 50, {
    message: "m2",
    text: "A retry finds the row of the first attempt and **throws**. It must return the same receipt:\n\n```ts\nif (row) return receiptOf(row); // same id, same answer\n```\n",
  }),
  of(
    "turn.tool_call",
    8,
    40,
    call("edit", "edit", "src/inbox/admit.ts", {
      locations: [{ path: "src/inbox/admit.ts" }],
      diff: {
        path: "src/inbox/admit.ts",
        before: 'const row = find(id);\nif (row) throw new Error("twice");\n',
        after: "const row = find(id);\nif (row) return receiptOf(row);\n",
      },
    }),
  ),
  of("turn.tool_result", 9, 39.8, result("edit-src/inbox/admit.ts", "ok")),
  of("turn.tool_call", 10, 12, call("bash", "execute", "npm test", { input: { command: "npm test" } })),
];

export function sampleTranscript(events = sampleConversation): Transcript {
  const transcript = new Transcript();
  for (const one of events) transcript.add(one);
  return transcript;
}

const ask = (change: Partial<Ask> & Pick<Ask, "id" | "session">): Ask => ({
  kind: "permission",
  question: "Run a command",
  reason: null,
  gate: false,
  tool: "bash",
  detail: {},
  changes: [],
  cwd: "/home/ada/shop",
  origin: null,
  omitted: 0,
  options: ["allow", "always", "deny"],
  digest: "0".repeat(64),
  status: "open",
  answer: null,
  created_at: at(47),
  expires_at: null,
  settled_at: null,
  settled_by: null,
  settled_reason: null,
  ...change,
});

const queue = (name: string, agent: string, change: Partial<QueueView> = {}): QueueView => ({
  name,
  source: "config",
  settings: { agent, max_parallel: 2, retries: 1, timeout: null, on_crash: "retry", budgets: [] },
  paused: false,
  tasks: { pending: 0, dispatched: 0, completed: 41, failed: 1, cancelled: 0 },
  budgets: [],
  blocked_by: [],
  unblock_at: null,
  ...change,
});

const agent = (slug: string, change: Partial<AgentSummary> = {}): AgentSummary => ({
  slug,
  description: "",
  harness: "claude-code",
  model: null,
  effort: null,
  permission: "write",
  source: "config",
  plugin: null,
  file_path: ".aegis.yaml",
  default: false,
  offline: false,
  ...change,
});

const tdd = id<RunId>("run", "0abcde");
const step = (label: string, method: string, from: number, to: number | null, change: Partial<Step> = {}): Step => ({
  run: tdd,
  epoch: 0,
  scope: "",
  method,
  label,
  status: to === null ? "begun" : "ok",
  ended: null,
  error: null,
  started_at: at(from),
  ended_at: to === null ? null : at(to),
  ...change,
});

export function sampleModel(): Model {
  const run = (name: string, workflow: string, host: SessionId, from: number, change: object) => ({
    id: id<RunId>("run", name),
    workflow,
    args: { task: "fix admit()" },
    host,
    status: "running" as const,
    phase: null,
    result: null,
    error: null,
    started_at: at(from),
    ended_at: null,
    steps_done: 0,
    open: [],
    lines: [],
    ...change,
  });
  const runs = [
    run("0abcde", "tdd_cycle", lucid, 7_212.4, {
      phase: "red",
      open: [{ label: "drain", method: "drain", started_at: at(12) }],
    }),
    run("1234ab", "brainstorm_to_spec", wry, 47.2, {
      open: [{ label: "ask", method: "askHuman", started_at: at(40) }],
    }),
    run("9988cc", "review_branch", lucid, 400, {
      status: "ok",
      ended_at: at(218),
      result: { summary: "3 reviews ok, 0 blocked", report: "docs/reviews/main.md" },
    }),
    run("7766dd", "execute_plan", brisk, 900, {
      status: "error",
      ended_at: at(822),
      error: { kind: "expected", name: "PredicateFailed", message: "tests still failing" },
    }),
  ];
  const task = (name: string, change: object) =>
    ({ ...taskRow({ id: id<TaskId>("tsk", name), queue: "review", ...change }), waiting_on: [] }) as const;
  const tasks = [
    task("01hz7a", {
      status: "dispatched",
      worker: keen,
      dispatched_at: at(72),
      payload: "review the retry path",
      attempts: 1,
    }),
    task("01j4bb", { producer: lucid, payload: "check the retry path", enqueued_at: at(40) }),
    task("01hx3c", { status: "completed", dispatched_at: at(330), ended_at: at(200), result: "No findings." }),
  ];
  const asks = [
    ask({
      id: id("ask", "one"),
      session: wry,
      question: "Clean the build folder",
      reason: "clean build before the release notes",
      detail: { command: "rm -rf build && npm run build" },
      origin: {
        handle: "wry-hopper",
        agent: "designer",
        harness: "claude-code",
        parents: [],
        senders: [{ kind: "agent", session: lucid, handle: "lucid-hertz" }],
        requesters: [],
      },
      expires_at: now + 553_000,
    }),
    ask({
      id: id("ask", "two"),
      session: brisk,
      kind: "question",
      tool: null,
      question: "Keep the old export?",
      options: ["keep it", "remove it"],
      created_at: at(12),
      detail: null,
    }),
  ];
  const sessions = [
    session({
      id: lucid,
      handle: "lucid-hertz",
      agent: "coder",
      state: "working",
      title: "Idempotent admission",
      doing: { words: "runs npm test", call: "bash-npm test" },
      last_turn_at: at(72),
      usage: usage(0.83),
      context: { used: 82_000, size: 200_000 },
      model: "sonnet",
    }),
    session({
      id: wry,
      handle: "wry-hopper",
      agent: "designer",
      state: "working",
      created_at: at(3_000),
      usage: usage(0.2),
    }),
    session({ id: brisk, handle: "brisk-volta", agent: "coder", created_at: at(2_000) }),
    session({
      id: keen,
      handle: "keen-poincare",
      agent: "reviewer",
      state: "working",
      created_at: at(72),
      doing: { words: "reads src/inbox/receipt.ts", call: "read-src/inbox/receipt.ts" },
      said: "I read the three callers of admit().",
      last_turn_at: at(72),
    }),
    session({
      id: reviewerSession,
      handle: "shy-boole",
      agent: "reviewer",
      state: "ready",
      parent: lucid,
      depth: 1,
      created_at: at(60),
    }),
  ];
  const byId = <T extends { id: string }>(list: readonly T[]) => Object.fromEntries(list.map((one) => [one.id, one]));
  const hop = (seq: number, seconds: number, from: string, to: string, label: string) => ({
    seq,
    at: at(seconds),
    from,
    to,
    label,
    text: `the text of ${label}`,
    session: lucid,
  });
  return {
    ...emptyModel(),
    connection: "live",
    state: {
      last_seq: 100,
      cards: byId(sessions),
      asks,
      tasks: byId(tasks),
      runs: byId(runs),
      schedules: {},
      subagents: {},
    },
    conversations: { [lucid]: { transcript: sampleTranscript(), more: false } },
    flow: [
      hop(1, 86, "you", "lucid-hertz", "message"),
      hop(2, 83, "lucid-hertz", "wry-hopper", "handoff"),
      hop(3, 78, "lucid-hertz", "review", "task"),
      hop(4, 57, "wry-hopper", "you", "ask"),
      hop(5, 15, "review", "lucid-hertz", "result"),
      hop(6, 14, "lucid-hertz", "tdd_cycle", "run"),
    ],
    lists: {
      ...emptyModel().lists,
      queues: [
        queue("review", "reviewer"),
        queue("build", "builder", {
          paused: true,
          tasks: { pending: 0, dispatched: 0, completed: 12, failed: 0, cancelled: 0 },
        }),
      ],
      agents: [
        agent("coder", { default: true, model: "sonnet", description: "Writes code" }),
        agent("reviewer", { permission: "read", source: "project", file_path: ".aegis/agents/reviewer.md" }),
        agent("designer", { source: "plugin", plugin: "studio", file_path: "<plugin:studio>" }),
      ],
      agentProblems: [
        {
          level: "error",
          agent: "tester",
          plugin: null,
          file: ".aegis/agents/tester.md",
          line: 3,
          message: "unknown harness: cluade",
        },
      ],
      plugins: [
        {
          name: "studio",
          title: null,
          version: "1.2.0",
          description: "Designs screens",
          format: "plugin.toml",
          status: "loaded",
          reason: null,
          place: ".aegis/plugins/studio",
          critical: false,
          generation: 1,
          has_code: true,
          guard: null,
          unsupported: [],
        },
        {
          name: "guard",
          title: null,
          version: "0.3.1",
          description: "",
          format: "plugin.toml",
          status: "failed",
          reason: "index.ts:4 cannot find module ./rules.ts",
          place: ".aegis/plugins/guard",
          critical: false,
          generation: 0,
          has_code: true,
          guard: null,
          unsupported: [],
        },
      ],
    },
    steps: {
      run: tdd,
      steps: [
        step("spawn coder", "spawn", 7_212, 7_210),
        step("write a failing test", "send", 7_210, 7_195),
        step("npm test", "bash", 7_195, 7_192, { status: "error", error: "exit 1" }),
        step("make it pass", "send", 12, null),
      ],
    },
  };
}

export const sampleSessions = { lucid, wry, brisk, keen };

/** The sample with failed work, and with work that is ready to land. */
export function withNeeds(model: Model): Model {
  const none = { task: null, closed: false, problem: null, changes: null, check: null, target: null };
  const needs: OpenNeed[] = [
    {
      ...none,
      kind: "failed",
      session: sampleSessions.keen,
      title: "Review the retry path",
      handle: "keen-poincare",
      agent: "reviewer",
      since: at(90),
      problem: "Not logged in. Run: claude /login",
    },
    {
      ...none,
      kind: "ready",
      session: sampleSessions.brisk,
      title: "Describe the retry in the guide",
      handle: "shy-boole",
      agent: "coder",
      closed: true,
      since: at(600),
      changes: { files: 3, added: 41, deleted: 7, shared: 0 },
      check: "passed",
      target: "main",
    },
  ];
  // The screens read nothing else of the status here.
  const status = { needs, config_problems: [], untrusted: [] } as unknown as Status;
  return { ...model, lists: { ...model.lists, status } };
}
