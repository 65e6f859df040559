/** No known secret stays in any column or any event, except where it is needed as it was. */
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { askSchema } from "@aegis/contract/ask.ts";
import { type EventType, eventSchemas, type NewEvent } from "@aegis/contract/event.ts";
import { broadcastSchema, groupSchema } from "@aegis/contract/group.ts";
import { newId } from "@aegis/contract/ids.ts";
import { messageSchema } from "@aegis/contract/message.ts";
import { checkReceiptSchema } from "@aegis/contract/receipt.ts";
import { runSchema, stepSchema } from "@aegis/contract/run.ts";
import { firingSchema, scheduleSettingsSchema } from "@aegis/contract/schedule.ts";
import { sessionLimitsSchema, sessionSchema } from "@aegis/contract/session.ts";
import { pooledAgentSchema, subagentSchema } from "@aegis/contract/subagent.ts";
import { attemptSchema, queueSettingsSchema, taskSchema } from "@aegis/contract/task.ts";
import { turnSchema } from "@aegis/contract/turn.ts";
import { createRedactor } from "@aegis/lib/redact.ts";
import { sample } from "@aegis/test/helpers/sample.ts";
import { tempDir } from "@aegis/test/helpers/temp-dir.ts";
import { describe, expect, it } from "vitest";
import { redactingStore } from "../src/redacting.ts";
import type { Store } from "../src/store.ts";
import { openStore } from "./open-store.ts";

const secret = "Hunter2-secret";

async function open(): Promise<{ store: Store; path: string }> {
  const path = join(await tempDir(), "aegis.db");
  const { store } = await openStore(path);
  return { store: redactingStore(store, createRedactor([secret])), path };
}

it("no type of event holds a secret", async () => {
  const { store } = await open();
  const types = Object.keys(eventSchemas) as EventType[];
  const given = types.map((type) => ({ type, session: null, data: sample(eventSchemas[type], `say ${secret}`) }));
  const appended = await store.transact(async (tx) => {
    const events = [];
    for (const event of given) events.push(await tx.events.append(event as NewEvent, 1));
    return events;
  });
  const stored = await store.read.events.list({ limit: types.length });
  expect(stored.map(({ type }) => type)).toEqual(types);
  const fields = (event: { data: object }) => Object.keys(event.data);
  expect(stored.map(fields)).toEqual(given.map(fields));
  for (const event of [...appended, ...stored]) expect(JSON.stringify(event)).not.toContain(secret);
});

/** Writes a row into every table, with the secret in each field that takes any text. */
async function fillEverything(store: Store): Promise<void> {
  const [ses, worker, msg, trn] = [newId("ses", 1), newId("ses", 2), newId("msg", 1), newId("trn", 1)];
  const [ask, tsk, run, fir] = [newId("ask", 1), newId("tsk", 1), newId("run", 1), newId("fir", 1)];
  const [grp, brd] = [newId("grp", 1), newId("brd", 1)];
  const limits = sample(sessionLimitsSchema, secret);
  const links = { parent: null, forked_from: null, started_by: null, root: null, closed_at: null };
  const session = {
    ...sample(sessionSchema, secret),
    ...links,
    id: ses,
    limits,
    resume: secret,
    fork_point: { seq: 1, resume: secret },
  };
  const turn = { ...sample(turnSchema, secret), id: trn, session: ses, ended_at: null, reason: null };
  const runRow = { ...sample(runSchema, secret), id: run, host: ses, chain: msg, forked_from: null, ended_at: null };
  const step = { ...sample(stepSchema, secret), run, key: secret, occurrence: 1, status: "begun" as const };
  const open = { session: ses, ended: null, ended_at: null };
  const text = { begun: secret, result: secret, failure: secret };
  const subagent = {
    ...sample(subagentSchema, secret),
    run_id: "0123456789ab",
    session: worker,
    parent: ses,
    root: ses,
  };
  const firing = { ...sample(firingSchema, secret), id: fir, ended_at: null, status: "running" as const };
  await store.transact(async (tx) => {
    await tx.sessions.insert(session);
    await tx.sessions.insert({ ...session, id: worker, handle: "other" });
    await tx.sessions.update(worker, { title: secret, error: secret });
    const sender = { kind: "agent" as const, session: ses, handle: secret };
    await tx.messages.insert({
      ...sample(messageSchema, secret),
      id: msg,
      session: ses,
      sender,
      chain: msg,
      turn: trn,
    });
    await tx.turns.insert({ ...turn, accepted: false, handed_over: [] });
    await tx.turns.say(trn, secret);
    await tx.events.append({ type: "session.titled", session: ses, data: { title: secret, source: null } }, 1);
    await tx.seen.set(secret, ses, 1);
    await tx.asks.insert({ ...sample(askSchema, secret), id: ask, session: ses, status: "open", answer: null });
    const how = { status: "answered" as const, at: 1, used: false, by: secret, reason: secret };
    await tx.asks.settle(ask, { ...how, answer: { choice: secret, text: secret } });
    await tx.queues.put({ name: secret, settings: sample(queueSettingsSchema, secret), paused: false });
    await tx.tasks.insert({ ...sample(taskSchema, secret), id: tsk, producer: ses, worker, chain: msg });
    await tx.tasks.insertAttempt({ ...sample(attemptSchema, secret), task: tsk, worker });
    await tx.groups.insert({ ...sample(groupSchema, secret), id: grp, dissolved_at: null });
    await tx.groups.addMember(grp, ses);
    const { members, ...broadcast } = sample(broadcastSchema, secret);
    const asked = members.map((member) => ({ ...member, session: ses, message: msg, status: "waiting" as const }));
    await tx.broadcasts.insert({ ...broadcast, id: brd, group: grp, sender, settled_at: null, members: asked });
    await tx.broadcasts.settleMember(brd, ses, { status: "error", turn: trn, error: secret, arrival: 1 });
    await tx.runs.insert({ ...runRow, owner: secret, lease_until: 1 });
    await tx.runs.update(run, { phase: secret, parked: runRow.parked, error: runRow.error });
    await tx.steps.insert({ ...step, ...open, ...text });
    const end = { status: "error" as const, ended: 1, at: 1, result: secret, failure: secret, error: secret };
    await tx.steps.end({ run, epoch: step.epoch, scope: step.scope, key: secret, occurrence: 1 }, end);
    await tx.signals.add({ run, key: secret, name: secret, value: JSON.stringify(secret) });
    await tx.subagents.insert({ ...subagent, announced_to: null, announcement: null, chain: msg, hops: 0 });
    await tx.pool.insert({ ...sample(pooledAgentSchema, secret), session: ses, lease: null });
    await tx.pool.lease(ses, { id: secret, holder: worker, since: 1 });
    const settings = sample(scheduleSettingsSchema, secret);
    await tx.schedules.put({ name: secret, settings, cursor: 1, fires: 1, since: 1 });
    await tx.firings.insert(firing);
    await tx.firings.update(fir, { stopping: secret, effect: secret });
    await tx.worktrees.insert({ session: ses, base_ref: secret, created_at: 1 });
    await tx.worktrees.update(ses, {
      base: secret,
      target: secret,
      dir: secret,
      branch: secret,
      repository: secret,
      problem: secret,
    });
    await tx.landings.insert({
      id: newId("lnd", 1),
      session: ses,
      target: secret,
      how: "squash",
      check: secret,
      state: "new",
      exit: null,
      old: secret,
      tip: secret,
      next: secret,
      tree: secret,
      files: [secret],
      detail: secret,
      created_at: 1,
      ended_at: null,
    });
    await tx.fileWrites.put({ path: secret, session: ses, hash: secret, at: 1 });
    await tx.receipts.put({ ...sample(checkReceiptSchema, secret), session: ses, scope: secret });
    await tx.receipts.setCheck(secret, { command: secret, max_retries: 2, timeout: 600, by: "person" });
    const detail = { skipped: [], dirty_submodules: [secret], filters_off: [] };
    const state = { folder: secret, tree: secret, head: secret, problem: secret, detail };
    await tx.boundaries.insert({ session: ses, turn: trn, edge: "open", at: 1, ...state });
    await tx.channels.setCursor(secret, secret, 1);
    const received = { channel: secret, key: secret, payload: { text: secret }, at: 1 };
    await tx.channels.receive(received);
    await tx.channels.retryReceived(1, secret);
    await tx.channels.addOut({
      channel: secret,
      key: secret,
      place: secret,
      session: ses,
      ask,
      kind: "text" as const,
      body: { text: secret },
      created_at: 1,
    });
    await tx.channels.updateOut(1, { error: secret, external_id: secret });
    await tx.channels.putPeer({ channel: secret, peer: secret, name: secret, place: secret, paired_at: 1 });
    await tx.channels.setSessionAt(secret, secret, ses);
    await tx.channels.addRoute(secret, ses, secret);
    await tx.clients.insert({ name: secret, token_hash: secret, created_at: 1, last_used_at: null });
  });
}

/** Columns of every table, by what became of the secret in them. */
function columnsWith(path: string, text: string): { columns: string[]; empty: string[] } {
  using database = new DatabaseSync(path, { readOnly: true });
  const names = database.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name").all();
  const columns: string[] = [];
  const empty: string[] = [];
  for (const { name } of names) {
    const rows = database.prepare(`SELECT * FROM "${name}"`).all();
    if (rows.length === 0) empty.push(String(name));
    const found = new Set(rows.flatMap((row) => Object.keys(row).filter((key) => String(row[key]).includes(text))));
    columns.push(...[...found].sort().map((column) => `${name}.${column}`));
  }
  return { columns, empty };
}

/** Names by which rows are found. They come from the configuration, from harnesses, or are checked when they are given. */
const names = [
  "asks.cwd",
  "asks.digest",
  "asks.origin",
  "asks.tool",
  "attempts.queue",
  "boundaries.folder",
  "boundaries.head",
  "boundaries.tree",
  "broadcast_members.handle",
  "broadcasts.sender",
  "channel_cursors.name",
  "channel_cursors.position",
  "channel_inbox.channel",
  "channel_inbox.key",
  "channel_outbox.channel",
  "channel_outbox.external_id",
  "channel_outbox.key",
  "channel_outbox.place",
  "channel_peers.channel",
  "channel_peers.peer",
  "channel_peers.place",
  "channel_places.channel",
  "channel_places.place",
  "channel_routes.channel",
  "channel_routes.place",
  "checks.subject",
  "clients.name",
  "clients.token_hash",
  "file_writes.hash",
  "file_writes.path",
  "firings.effect",
  "firings.schedule",
  "groups.name",
  "groups.reducer",
  "landings.files",
  "landings.next",
  "landings.old",
  "landings.target",
  "landings.tip",
  "landings.tree",
  "messages.sender",
  "pool.config_hash",
  "pool.key",
  "pool.lease",
  "pool.plugin",
  "pool.slug",
  "queues.name",
  "queues.settings",
  "receipts.head",
  "receipts.scope",
  "receipts.subject",
  "receipts.tree",
  "runs.code",
  "runs.owner",
  "runs.starter",
  "runs.workflow",
  "schedules.name",
  "seen.client",
  "sessions.agent",
  "sessions.fork_point",
  "sessions.handle",
  "sessions.harness",
  "sessions.limits",
  "sessions.node",
  "sessions.nodes",
  "sessions.resume",
  "signals.key",
  "signals.name",
  "steps.key",
  "steps.method",
  "steps.scope",
  "subagents.agent",
  "subagents.label",
  "subagents.model",
  "tasks.queue",
  "tasks.starter",
  "turns.usage",
  "worktrees.base",
  "worktrees.base_ref",
  "worktrees.branch",
  "worktrees.dir",
  "worktrees.repository",
  "worktrees.target",
];

/** What docs/security.md names as kept. */
const whole = [
  "asks.changes",
  "asks.detail",
  "asks.options",
  "asks.question",
  "asks.reason",
  "broadcasts.boundaries",
  "broadcasts.objective",
  "broadcasts.output_format",
  "broadcasts.tool_guidance",
  "channel_inbox.payload",
  "checks.definition",
  "firings.action",
  "landings.check",
  "runs.args",
  "schedules.settings",
  "signals.value",
  "steps.begun",
  "steps.failure",
  "steps.result",
  "subagents.task",
];

const untilOver = ["asks.answer", "asks.choice", "messages.body", "messages.sent", "tasks.payload"];

describe("rows", () => {
  it("keep a secret in the columns that are known to, and in no other", async () => {
    const { store, path } = await open();
    await fillEverything(store);
    await store.close();
    const { columns, empty } = columnsWith(path, secret);
    // They hold names, numbers and ids, files, and requests that are removed once they were answered.
    expect(empty).toEqual(["blobs", "commands", "identity", "nodes", "session_usage"]);
    expect(columns.toSorted()).toEqual([...names, ...whole, ...untilOver].toSorted());
    expect(columnsWith(path, "[redacted]").columns).toEqual([
      "asks.settled_by",
      "asks.settled_reason",
      "attempts.error",
      "boundaries.detail",
      "boundaries.problem",
      "broadcast_members.error",
      "channel_inbox.error",
      "channel_outbox.body",
      "channel_outbox.error",
      "channel_peers.name",
      "events.data",
      "firings.error",
      "firings.result",
      "firings.stopping",
      "landings.detail",
      "messages.attachments",
      "receipts.changed",
      "receipts.command",
      "receipts.problem",
      "receipts.tail",
      "runs.error",
      "runs.parked",
      "runs.phase",
      "runs.result",
      "sessions.error",
      "sessions.title",
      "steps.error",
      "steps.label",
      "subagents.error",
      "subagents.result",
      "tasks.error",
      "tasks.result",
      "turns.error",
      "turns.text",
      "worktrees.problem",
    ]);
  });

  it("an answer keeps its secret until it has reached the session that asked", async () => {
    const { store } = await open();
    await fillEverything(store);
    const [ask] = await store.read.asks.list({ limit: 1 });
    if (ask === undefined) throw new Error("no ask was stored");
    expect(ask.answer).toEqual({ choice: secret, text: secret });
    await store.transact((tx) => tx.asks.markUsed(ask.id));
    expect((await store.read.asks.get(ask.id))?.answer).toEqual({ choice: "[redacted]", text: "[redacted]" });
  });

  it("an answer that somebody waits for is never stored with its secret", async () => {
    const { store, path } = await open();
    await fillEverything(store);
    const [before] = await store.read.asks.list({ limit: 1 });
    if (before === undefined) throw new Error("no ask was stored");
    const id = newId("ask", 3);
    const settlement = { status: "answered" as const, at: 1, used: true, by: null, reason: null };
    await store.transact(async (tx) => {
      await tx.asks.markUsed(before.id);
      await tx.asks.insert({ ...before, id, status: "open", answer: null, question: "?", reason: null, detail: null });
      await tx.asks.settle(id, { ...settlement, answer: { choice: null, text: secret } });
    });
    expect((await store.read.asks.get(id))?.answer).toEqual({ choice: null, text: "[redacted]" });
    await store.close();
    expect(columnsWith(path, secret).columns).not.toContain("asks.answer");
  });
});
