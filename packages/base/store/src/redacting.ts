/**
 * A store that keeps no value of a known secret longer than it is needed. What each column may hold is decided in
 * `text-marks.ts`. A message keeps its text until the end of its turn is recorded, because a crash before that sends it
 * again; a task keeps its payload until it has completed or was cancelled, because a failed one can be put back; an answer
 * to an ask is kept until the asking session has received it.
 */
import type { AskId, MessageId, TaskId } from "@aegis/contract/ids.ts";
import type { MessageStatus } from "@aegis/contract/message.ts";
import { type Redact, redacted } from "@aegis/lib/redact.ts";
import type { Store, StoreReads, StoreTx } from "./store.ts";
import {
  askMarks,
  attemptMarks,
  boundaryMarks,
  broadcastMarks,
  channelInboxMarks,
  channelOutboxMarks,
  channelPeerMarks,
  clientMarks,
  fileWriteMarks,
  firingMarks,
  groupMarks,
  landingMarks,
  type Mark,
  type Marks,
  memberMarks,
  messageMarks,
  poolMarks,
  queueMarks,
  receiptMarks,
  runMarks,
  scheduleMarks,
  sessionMarks,
  settlementMarks,
  signalMarks,
  stepMarks,
  subagentMarks,
  taskMarks,
  turnMarks,
  worktreeMarks,
} from "./text-marks.ts";

/** `redact` must use the secrets of the moment, because a new configuration may bring new ones. */
export function redactingStore(store: Store, redact: Redact): Store {
  return {
    read: store.read,
    transact: (unit) => store.transact((tx) => unit(redactingTx(tx, redact))),
    onCommit: (...listener) => store.onCommit(...listener),
    ...(store.membership === undefined ? {} : { membership: store.membership }),
    health: () => store.health(),
    close: () => store.close(),
  };
}

type TableName = keyof StoreTx;
/** The methods of a table that change it. */
type Writes<Name extends TableName> = Omit<StoreTx[Name], keyof StoreReads[Name]>;

/** Every method that writes, of every table: one that is missing here does not compile. */
const redactingWrites: { [Name in TableName]: (tx: StoreTx, redact: Redact) => Writes<Name> } = {
  events: ({ events }, redact) => ({
    append: (event, at) => events.append({ ...event, data: redacted(event.data, redact) } as typeof event, at),
  }),
  sessions: ({ sessions }, redact) => ({
    insert: (row) => sessions.insert(clean(row, sessionMarks, redact)),
    update: (id, change) => sessions.update(id, clean(change, sessionMarks, redact)),
  }),
  messages: (tx, redact) => ({
    insert: (row) => tx.messages.insert(clean(row, messageMarks, redact)),
    async setStatus(ids, status, turn) {
      await tx.messages.setStatus(ids, status, turn);
      if (isOver[status]) for (const id of ids) await redactMessage(tx, id, redact);
    },
    receive: (id, body) => tx.messages.receive(id, body),
    replaceText: (id, text) => tx.messages.replaceText(id, redacted(text, redact)),
  }),
  turns: ({ turns }, redact) => ({
    insert: (row) => turns.insert(clean(row, turnMarks, redact)),
    accept: (id) => turns.accept(id),
    handOver: (id, handed) => turns.handOver(id, handed),
    spend: (id, usage) => turns.spend(id, usage),
    say: (id, text) => turns.say(id, redact(text)),
    end: (id, end) => turns.end(id, clean(end, turnMarks, redact)),
  }),
  seen: ({ seen }) => ({ set: (client, session, seq) => seen.set(client, session, seq) }),
  asks: (tx, redact) => ({
    insert: (row) => tx.asks.insert(clean(row, askMarks, redact)),
    async settle(id, settlement) {
      await tx.asks.settle(id, clean(settlement, settlementMarks, redact));
      if (settlement.used) await redactAnswer(tx, id, redact);
    },
    async markUsed(id) {
      await tx.asks.markUsed(id);
      await redactAnswer(tx, id, redact);
    },
    replaceAnswer: (id, answer) => tx.asks.replaceAnswer(id, redacted(answer, redact)),
  }),
  queues: ({ queues }, redact) => ({
    put: (row) => queues.put(clean(row, queueMarks, redact)),
    remove: (name) => queues.remove(name),
  }),
  tasks: (tx, redact) => ({
    insert: (row) => tx.tasks.insert(clean(row, taskMarks, redact)),
    async update(id, change) {
      await tx.tasks.update(id, clean(change, taskMarks, redact));
      if (change.status === "completed" || change.status === "cancelled") await redactPayload(tx, id, redact);
    },
    replacePayload: (id, payload) => tx.tasks.replacePayload(id, redact(payload)),
    moveToEnd: (id) => tx.tasks.moveToEnd(id),
    insertAttempt: (attempt) => tx.tasks.insertAttempt(clean(attempt, attemptMarks, redact)),
    endAttempt: (task, number, end) => tx.tasks.endAttempt(task, number, clean(end, attemptMarks, redact)),
  }),
  groups: ({ groups }, redact) => ({
    insert: (row) => groups.insert(clean(row, groupMarks, redact)),
    addMember: (group, session) => groups.addMember(group, session),
    dissolve: (id, at) => groups.dissolve(id, at),
  }),
  broadcasts: ({ broadcasts }, redact) => ({
    insert: ({ members, ...row }) =>
      broadcasts.insert({
        ...clean(row, broadcastMarks, redact),
        members: members.map((member) => clean(member, memberMarks, redact)),
      }),
    settleMember: (id, session, settlement) =>
      broadcasts.settleMember(id, session, clean(settlement, memberMarks, redact)),
    moveMember: (id, session, message) => broadcasts.moveMember(id, session, message),
    settle: (id, at) => broadcasts.settle(id, at),
  }),
  runs: ({ runs }, redact) => ({
    insert: (row) => runs.insert(clean(row, runMarks, redact)),
    update: (id, change) => runs.update(id, clean(change, runMarks, redact)),
    renew: (owner, until) => runs.renew(owner, until),
    end: (id, end) => runs.end(id, clean(end, runMarks, redact)),
  }),
  steps: ({ steps }, redact) => ({
    insert: (row) => steps.insert(clean(row, stepMarks, redact)),
    end: (name, end) => steps.end(name, clean(end, stepMarks, redact)),
    remove: (run, from) => steps.remove(run, from),
    copy: (from, to, epochs) => steps.copy(from, to, epochs),
  }),
  signals: ({ signals }, redact) => ({
    add: (row) => signals.add(clean(row, signalMarks, redact)),
    take: (run, key) => signals.take(run, key),
  }),
  subagents: ({ subagents }, redact) => ({
    insert: (row) => subagents.insert(clean(row, subagentMarks, redact)),
    end: (runId, end) => subagents.end(runId, clean(end, subagentMarks, redact)),
    announce: (runId, to) => subagents.announce(runId, to),
    archive: (runId, at) => subagents.archive(runId, at),
  }),
  pool: ({ pool }, redact) => ({
    insert: (row) => pool.insert(clean(row, poolMarks, redact)),
    lease: (session, lease) => pool.lease(session, lease),
    release: (session, lease, at) => pool.release(session, lease, at),
    releaseAll: (node) => pool.releaseAll(node),
  }),
  channels: ({ channels }, redact) => ({
    setCursor: (name, position, at) => channels.setCursor(name, position, at),
    receive: (row) => channels.receive(clean(row, channelInboxMarks, redact)),
    handled: (id, error) => channels.handled(id, error === null ? null : redact(error)),
    retryReceived: (id, error) => channels.retryReceived(id, redact(error)),
    addOut: (row) => channels.addOut(clean(row, channelOutboxMarks, redact)),
    updateOut: (id, change) => channels.updateOut(id, clean(change, channelOutboxMarks, redact)),
    hurryOut: (channel) => channels.hurryOut(channel),
    prune: (before) => channels.prune(before),
    putPeer: (peer) => channels.putPeer(clean(peer, channelPeerMarks, redact)),
    removePeer: (channel, peer) => channels.removePeer(channel, peer),
    setSessionAt: (channel, place, session) => channels.setSessionAt(channel, place, session),
    addRoute: (channel, session, place) => channels.addRoute(channel, session, place),
    moveRoute: (channel, session, from, to) => channels.moveRoute(channel, session, from, to),
  }),
  schedules: ({ schedules }, redact) => ({
    put: (row) => schedules.put(clean(row, scheduleMarks, redact)),
    remove: (name) => schedules.remove(name),
  }),
  firings: ({ firings }, redact) => ({
    insert: (row) => firings.insert(clean(row, firingMarks, redact)),
    update: (id, change) => firings.update(id, clean(change, firingMarks, redact)),
    end: (id, end) => firings.end(id, clean(end, firingMarks, redact)),
  }),
  worktrees: ({ worktrees }, redact) => ({
    insert: (row) => worktrees.insert(row),
    update: (session, change) => worktrees.update(session, clean(change, worktreeMarks, redact)),
  }),
  landings: ({ landings }, redact) => ({
    insert: (row) => landings.insert(clean(row, landingMarks, redact)),
    update: (row) => landings.update(clean(row, landingMarks, redact)),
  }),
  receipts: ({ receipts }, redact) => ({
    put: (row) => receipts.put(clean(row, receiptMarks, redact)),
    // A check runs again after a crash, so it is kept whole.
    setCheck: (subject, check) => receipts.setCheck(subject, check),
  }),
  boundaries: ({ boundaries }, redact) => ({
    insert: (row) => boundaries.insert(clean(row, boundaryMarks, redact)),
    forget: (position, problem) => boundaries.forget(position, redact(problem)),
  }),
  fileWrites: ({ fileWrites }, redact) => ({
    put: (row) => fileWrites.put(clean(row, fileWriteMarks, redact)),
    remove: (path) => fileWrites.remove(path),
    removeBefore: (at) => fileWrites.removeBefore(at),
  }),
  clients: ({ clients }, redact) => ({
    insert: (row) => clients.insert(clean(row, clientMarks, redact)),
    used: (name, at) => clients.used(name, at),
    remove: (name) => clients.remove(name),
  }),
  // The content of a file, by its hash.
  blobs: ({ blobs }) => ({ put: (sha256, data, at) => blobs.put(sha256, data, at) }),
  // Names, numbers and ids, and requests for another node with their answers, which are removed as soon as they were read.
  nodes: ({ nodes }) => ({
    declareLost: (name, incarnation) => nodes.declareLost(name, incarnation),
    describe: (name, change) => nodes.describe(name, change),
    remove: (name) => nodes.remove(name),
    moveWork: (from, to) => nodes.moveWork(from, to),
    adoptSessions: (to) => nodes.adoptSessions(to),
    freeRuns: (node) => nodes.freeRuns(node),
    addCommand: (command) => nodes.addCommand(command),
    finishCommand: (name, result) => nodes.finishCommand(name, result),
    removeCommand: (name) => nodes.removeCommand(name),
    tell: (hint) => nodes.tell(hint),
  }),
};

/** Tables are overlaid when a unit asks for them: most touch two or three. */
function redactingTx(tx: StoreTx, redact: Redact): StoreTx {
  const made: { [Name in TableName]?: StoreTx[Name] } = {};
  const tableOf = <Name extends TableName>(name: Name): StoreTx[Name] =>
    (made[name] ??= overlaid<StoreTx[Name]>(tx[name], redactingWrites[name](tx, redact)));
  return new Proxy(tx, { get: (_target, name) => tableOf(name as TableName) });
}

/** Whether a message of this status is never sent (again). */
const isOver: Readonly<Record<MessageStatus, boolean>> = {
  pending: false,
  dispatched: false,
  done: true,
  cancelled: true,
  lost: true,
  refused: true,
};

async function redactMessage(tx: StoreTx, id: MessageId, redact: Redact): Promise<void> {
  const message = await tx.messages.get(id);
  if (message === null) return;
  const { body, sent } = message;
  const text = redacted({ body, sent }, redact);
  if (text.body !== body || text.sent !== sent) await tx.messages.replaceText(id, text);
}

async function redactPayload(tx: StoreTx, id: TaskId, redact: Redact): Promise<void> {
  const task = await tx.tasks.get(id);
  if (task === null) return;
  const payload = redact(task.payload);
  if (payload !== task.payload) await tx.tasks.replacePayload(id, payload);
}

async function redactAnswer(tx: StoreTx, id: AskId, redact: Redact): Promise<void> {
  const answer = (await tx.asks.get(id))?.answer ?? null;
  if (answer === null) return;
  const shown = redacted(answer, redact);
  if (shown !== answer) await tx.asks.replaceAnswer(id, shown);
}

/** A row, or a change of one, whose `text` fields hold no known secret. */
function clean<T extends object>(row: T, marks: Marks<NoInfer<T>>, redact: Redact): T {
  const changed: Partial<T> = {};
  for (const [key, mark] of Object.entries<Mark>(marks)) {
    if (mark !== "text" || !Object.hasOwn(row, key)) continue;
    const field = key as keyof T;
    const value = redacted(row[field], redact);
    if (value !== row[field]) changed[field] = value;
  }
  return Object.keys(changed).length === 0 ? row : { ...row, ...changed };
}

/** A table with some of its methods replaced. */
function overlaid<T extends object>(table: T, own: object): T {
  return new Proxy(table, {
    get(target, name) {
      const value: unknown = Reflect.get(Object.hasOwn(own, name) ? own : target, name);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}
