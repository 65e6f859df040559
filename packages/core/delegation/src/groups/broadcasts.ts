/**
 * Broadcasts to a group. One transaction writes the broadcast, the expected replies and all messages. Replies are stored
 * as turns end, and derived again from the stored turns where that may have been missed.
 */
import { setImmediate } from "node:timers/promises";
import { AegisError } from "@aegis/contract/errors.ts";
import type { Event } from "@aegis/contract/event.ts";
import {
  type Brief,
  type Broadcast,
  type BroadcastMember,
  defaultGroupTimeout,
  defaultReducer,
  type Group,
  type GroupResult,
  type Replies,
} from "@aegis/contract/group.ts";
import { type BroadcastId, newId, type SessionId } from "@aegis/contract/ids.ts";
import type { Message, Sender } from "@aegis/contract/message.ts";
import type { Clock } from "@aegis/lib/clock.ts";
import { errorText, type Logger } from "@aegis/lib/log.ts";
import type { SessionProcesses } from "@aegis/nodes/session-processes.ts";
import { derivedId } from "@aegis/sessions/inbox/derived-id.ts";
import type { Inbox } from "@aegis/sessions/inbox/inbox.ts";
import type { Sessions } from "@aegis/sessions/sessions.ts";
import { until } from "@aegis/sessions/until.ts";
import type { Store, StoreTx } from "@aegis/store/store.ts";
import { type Transact, whileAway } from "@aegis/store/transact.ts";
import { answerEvents } from "../work/session-events.ts";
import { liveGroup, newestGroup } from "./find.ts";
import type { ReducerTable } from "./reducers.ts";
import { collect, hasNews, letOff } from "./replies.ts";
import { firstReply, repliesOf, resultOf } from "./results.ts";

export type BroadcastsOptions = {
  store: Store;
  transact: Transact;
  clock: Clock;
  log: Logger;
  inbox: Inbox;
  sessions: Sessions;
  processes: SessionProcesses;
  reducers: ReducerTable;
  /** The defaults of groups. */
  defaults: () => { reducer?: string | undefined; timeout?: number | undefined };
};

export type NewBroadcast = Brief & {
  /** Makes the request idempotent: an id is sent once. */
  id?: BroadcastId | undefined;
  group: string;
  sender: Sender;
  cause?: Pick<Message, "chain" | "hops"> | undefined;
};

export type Wait = {
  group: string;
  /** Wait for all replies, or for the first successful one. */
  mode: "all" | "any";
  /** Seconds. */
  timeout?: number | undefined;
  reducer?: string | undefined;
  cancel_losers?: boolean | undefined;
  /** Default: the last broadcast of the group. */
  broadcast?: BroadcastId | undefined;
  /** The waiting session, which cannot wait for itself. */
  caller?: SessionId | undefined;
};

export class Broadcasts {
  readonly #options: BroadcastsOptions;
  /** Broadcasts that may wait for replies. */
  readonly #unsettled = new Set<BroadcastId>();

  constructor(options: BroadcastsOptions) {
    this.#options = options;
  }

  /** Sends to every live member except the sender. Throws `conflict` while an earlier broadcast is open. */
  async send(input: NewBroadcast): Promise<Broadcast> {
    const { store, sessions, clock } = this.#options;
    // The id is stable if the transaction is retried.
    const id = input.id ?? newId("brd", clock.now());
    const broadcast = await store.transact(async (tx) => {
      const before = await tx.broadcasts.get(id);
      return before ? sameBroadcast(tx, before, input) : this.#open(tx, input, id);
    });
    for (const { session } of broadcast.members) sessions.wake(session);
    return broadcast;
  }

  /** The broadcast with all replies so far. Throws `not_found`. */
  async get(id: BroadcastId): Promise<{ broadcast: Broadcast; by_member: Replies }> {
    const broadcast = await this.#fresh(id);
    return { broadcast, by_member: await repliesOf(this.#options.store.read, broadcast) };
  }

  /** The group's last broadcast with all replies so far. */
  async latest(group: Group): Promise<Broadcast | null> {
    const latest = await this.#options.store.read.broadcasts.latest(group.id);
    return latest && this.#fresh(latest.id);
  }

  /**
   * Waits until enough members have replied, or until the timeout; later replies are still accepted. Throws if the
   * signal aborts; the broadcast continues.
   */
  async wait(wait: Wait, signal: AbortSignal): Promise<GroupResult> {
    const { store, reducers, clock } = this.#options;
    const group = await newestGroup(store.read, wait.group);
    const terms = this.terms(group);
    const reducer = wait.mode === "any" ? firstReply : reducers.get(wait.reducer ?? terms.reducer);
    const { id } = await this.#awaited(group, wait);
    const deadline = clock.now() + (wait.timeout ?? terms.timeout) * 1000;
    const { broadcast, late } = await this.#until(id, (current) => isEnough(current, wait.mode), deadline, signal);
    const won = wait.mode === "any" && !late && broadcast.settled_at === null;
    const settled = won && wait.cancel_losers !== false ? await this.#cancelLosers(id) : broadcast;
    return resultOf(store.read, settled, { reducer, late, signal });
  }

  /** The defaults of a wait: those of the group's preset, else those of the configuration. */
  terms(group: Group): { reducer: string; timeout: number } {
    const { reducer = defaultReducer, timeout = defaultGroupTimeout } = this.#options.defaults();
    return { reducer: group.reducer ?? reducer, timeout: group.timeout ?? timeout };
  }

  /** Stores replies as they arrive. Returns a function that stops it. */
  follow(): () => void {
    const { store } = this.#options;
    const end = new AbortController();
    const stopCounting = store.onCommit(
      (events) => {
        for (const event of events)
          if (event.type === "group.broadcast") this.#unsettled.add(event.data.broadcast);
          else if (event.type === "group.settled") this.#unsettled.delete(event.data.broadcast);
      },
      ["group.broadcast", "group.settled"],
    );
    const stopNoticing = store.onCommit(
      (events) => {
        for (const { session } of events) if (session !== null) void this.#noticeEnd(session, end.signal);
      },
      [...answerEvents],
      "own",
      this.#unsettled,
    );
    return () => {
      stopCounting();
      stopNoticing();
      end.abort();
    };
  }

  /** Recovers after a restart: stores missing replies and settles members that can no longer reply. */
  async resume(): Promise<void> {
    const { store, inbox } = this.#options;
    for (const message of await store.read.broadcasts.letOffPending()) await inbox.cancel(message);
    for (const id of await store.read.broadcasts.allOpen()) {
      this.#unsettled.add(id);
      await this.#fresh(id);
    }
  }

  async #open(tx: StoreTx, input: NewBroadcast, id: BroadcastId): Promise<Broadcast> {
    const { clock, inbox } = this.#options;
    const { group: name, sender, cause, objective, output_format, tool_guidance, boundaries } = input;
    const brief: Brief = { objective, output_format, tool_guidance, boundaries };
    const now = clock.now();
    const group = await liveGroup(tx, name);
    await refuseWhileOpen(tx, group, now);
    const members: BroadcastMember[] = [];
    for (const { id: session, handle } of await audience(tx, group, sender)) {
      const { message } = await inbox.admitIn(tx, {
        id: derivedId("msg", `${id}/${session}`),
        session,
        sender: { kind: "group", group: name, broadcast: id },
        body: renderBrief(brief),
        cause,
      });
      members.push({ session, handle, message: message.id, status: "waiting", turn: null, error: null, arrival: null });
    }
    const broadcast = { ...brief, id, group: group.id, sender, created_at: now, settled_at: null, members };
    await tx.broadcasts.insert(broadcast);
    const asked = members.map(({ session, handle, message }) => ({ session, handle, message }));
    const data = { group: group.id, name, broadcast: id, ...brief, members: asked };
    await tx.events.append({ type: "group.broadcast", session: null, data }, now);
    return broadcast;
  }

  async #awaited(group: Group, { broadcast: id, caller }: Wait): Promise<Broadcast> {
    const { read } = this.#options.store;
    const broadcast = id === undefined ? await read.broadcasts.latest(group.id) : await read.broadcasts.get(id);
    if (broadcast?.group !== group.id) {
      throw new AegisError(
        "not_found",
        `group "${group.name}" has ${id === undefined ? "had no" : "no such"} broadcast`,
      );
    }
    if (broadcast.members.some((member) => member.session === caller && member.status === "waiting")) {
      throw new AegisError("conflict", `you owe group "${group.name}" a reply yourself: end your turn to give it`);
    }
    return broadcast;
  }

  async #until(
    id: BroadcastId,
    isDone: (broadcast: Broadcast) => boolean,
    deadline: number,
    signal: AbortSignal,
  ): Promise<{ broadcast: Broadcast; late: boolean }> {
    const { store, clock } = this.#options;
    const look = async () => {
      const broadcast = await this.#fresh(id);
      return isDone(broadcast) ? broadcast : null;
    };
    const mayChange = (event: Event) =>
      (event.type === "group.replied" || event.type === "group.settled") && event.data.broadcast === id;
    try {
      const broadcast = (await until({ store, clock, look, mayChange, signal, deadline })) ?? (await this.#fresh(id));
      return { broadcast, late: !isDone(broadcast) };
    } catch (error) {
      throw signal.aborted ? new AegisError("unavailable", "the wait was interrupted; the broadcast continues") : error;
    }
  }

  async #cancelLosers(id: BroadcastId): Promise<Broadcast> {
    const { store, clock, processes, log } = this.#options;
    const losers = await store.transact((tx) => letOff(tx, id, "another member replied first", clock.now()));
    // A turn that started in this commit is registered as running only after this turn of the event loop.
    if (losers.length > 0) await setImmediate();
    for (const { session, message } of losers) {
      const [only, ...more] = await processes.current(session);
      // Other messages of the turn belong to other requests.
      if (only?.id !== message || more.length > 0) continue;
      processes.interrupt(session).catch((error: unknown) => {
        log.warn("a turn whose result is no longer needed could not be interrupted", {
          session,
          error: errorText(error),
        });
      });
    }
    return this.#fresh(id);
  }

  /** A reply that is not noticed now is noticed only by the next read of the broadcast: nothing else looks for it. */
  async #noticeEnd(session: SessionId, signal: AbortSignal): Promise<void> {
    const { store, clock, log } = this.#options;
    const notice = async () => {
      for (const id of await store.read.broadcasts.waitingFor(session)) await this.#fresh(id);
    };
    try {
      await whileAway(notice, { clock, log, signal, what: "a reply to a group", details: { session } });
    } catch (error) {
      log.warn("a reply to a group could not be stored yet", { session, error: errorText(error) });
    }
  }

  async #fresh(id: BroadcastId): Promise<Broadcast> {
    const { store, transact, clock } = this.#options;
    const broadcast = await store.read.broadcasts.get(id);
    if (!broadcast) throw new AegisError("not_found", `no broadcast ${id}`);
    if (broadcast.settled_at !== null || !(await hasNews(store.read, broadcast))) return broadcast;
    // A reply that is not stored is noticed only after the next start: nothing else would look for it.
    return transact((tx) => collect(tx, id, clock.now()));
  }
}

function isEnough({ settled_at, members }: Broadcast, mode: Wait["mode"]): boolean {
  return settled_at !== null || (mode === "any" && members.some((member) => member.status === "ok"));
}

async function sameBroadcast(tx: StoreTx, before: Broadcast, { group, objective }: NewBroadcast): Promise<Broadcast> {
  const { name } = (await tx.groups.get(before.group)) ?? { name: "" };
  if (name === group && before.objective === objective) return before;
  throw new AegisError("conflict", `broadcast id ${before.id} was used before for another broadcast`, {
    hint: "choose a fresh id for each broadcast",
  });
}

async function refuseWhileOpen(tx: StoreTx, group: Group, now: number): Promise<void> {
  const before = await tx.broadcasts.open(group.id);
  if (!before) return;
  const { settled_at, id, members } = await collect(tx, before.id, now);
  if (settled_at !== null) return;
  const out = members.filter((member) => member.status === "waiting").map((member) => member.handle);
  throw new AegisError("conflict", `group "${group.name}" still answers ${id}: no reply yet of ${out.join(", ")}`, {
    hint: "wait for it, interrupt those members, or dissolve the group",
  });
}

/** The live members except the sender, which cannot answer during its own turn. */
async function audience(tx: StoreTx, group: Group, sender: Sender): Promise<{ id: SessionId; handle: string }[]> {
  const asker = sender.kind === "agent" ? sender.session : null;
  const rows = await Promise.all((await tx.groups.members(group.id)).map((session) => tx.sessions.get(session)));
  const live = rows.flatMap((row) => (row === null || row.closed_at !== null || row.id === asker ? [] : [row]));
  if (live.length > 0) return live;
  throw new AegisError("conflict", `group "${group.name}" has no open member to ask`, {
    hint: "add members, or dissolve it",
  });
}

/** Renders a broadcast for a member: the four fields in order, each with its label. */
function renderBrief({ objective, output_format, tool_guidance, boundaries }: Brief): string {
  return [
    `objective: ${objective}`,
    `output_format: ${output_format}`,
    `tool_guidance: ${tool_guidance}`,
    `boundaries: ${boundaries}`,
  ].join("\n");
}
