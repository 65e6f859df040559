/**
 * Asking a whole group at once. The broadcast, what each member owes and all messages are one transaction; replies are
 * stored as turns end, and worked out again from the stored turns wherever that may have been missed.
 */
import { setImmediate } from "node:timers/promises";
import { AegisError } from "../../contract/errors.ts";
import type { Event } from "../../contract/event.ts";
import {
  type Brief,
  type Broadcast,
  type BroadcastMember,
  defaultGroupTimeout,
  defaultReducer,
  type Group,
  type GroupResult,
  type Replies,
} from "../../contract/group.ts";
import { type BroadcastId, newId, type SessionId } from "../../contract/ids.ts";
import type { Message, Sender } from "../../contract/message.ts";
import type { Clock } from "../../lib/clock.ts";
import { errorText, type Logger } from "../../lib/log.ts";
import type { Store, StoreTx } from "../../store/store.ts";
import { derivedId } from "../inbox/derived-id.ts";
import type { Inbox } from "../inbox/inbox.ts";
import type { Sessions } from "../sessions/sessions.ts";
import type { Turns } from "../sessions/turns.ts";
import { renderBrief } from "./brief.ts";
import { liveGroup, newestGroup } from "./find.ts";
import { Hints } from "./hints.ts";
import type { ReducerRegistry } from "./reducers.ts";
import { collect, hasNews, letOff } from "./replies.ts";
import { firstReply, repliesOf, resultOf } from "./results.ts";

export type BroadcastsOptions = {
  store: Store;
  clock: Clock;
  log: Logger;
  inbox: Inbox;
  sessions: Sessions;
  turns: Turns;
  reducers: ReducerRegistry;
  /** What holds for a group that does not say. */
  defaults: () => { reducer?: string | undefined; timeout?: number | undefined };
};

export type NewBroadcast = Brief & {
  /** Makes a repeated request harmless: the same id is sent once. */
  id?: BroadcastId | undefined;
  group: string;
  sender: Sender;
  cause?: Pick<Message, "chain" | "hops"> | undefined;
};

export type Wait = {
  group: string;
  /** For all replies, or for the first good one. */
  mode: "all" | "any";
  /** Seconds. */
  timeout?: number | undefined;
  reducer?: string | undefined;
  cancel_losers?: boolean | undefined;
  /** Another broadcast of the group than its last. */
  broadcast?: BroadcastId | undefined;
  /** The session that waits: it cannot wait for itself. */
  caller?: SessionId | undefined;
};

/** After these a message of a member may have come to its end. */
const endings: readonly Event["type"][] = ["turn.ended", "message.cancelled", "message.lost", "session.closed"];

export class Broadcasts {
  readonly #options: BroadcastsOptions;
  readonly #hints = new Hints();

  constructor(options: BroadcastsOptions) {
    this.#options = options;
  }

  /** Asks every live member but the asker. Throws `conflict` while an earlier broadcast is open. */
  async send(input: NewBroadcast): Promise<Broadcast> {
    const { store, sessions, clock } = this.#options;
    // The same for a transaction that runs again.
    const id = input.id ?? newId("brd", clock.now());
    const broadcast = await store.transact(async (tx) => {
      const before = await tx.broadcasts.get(id);
      return before ? sameBroadcast(tx, before, input) : this.#open(tx, input, id);
    });
    for (const { session } of broadcast.members) sessions.wake(session);
    return broadcast;
  }

  /** With whatever is known by now. Throws `not_found`. */
  async get(id: BroadcastId): Promise<{ broadcast: Broadcast; by_member: Replies }> {
    const broadcast = await this.#fresh(id);
    return { broadcast, by_member: await repliesOf(this.#options.store.read, broadcast) };
  }

  /** The group's last broadcast with whatever is known by now. */
  async latest(group: Group): Promise<Broadcast | null> {
    const latest = await this.#options.store.read.broadcasts.latest(group.id);
    return latest && this.#fresh(latest.id);
  }

  /**
   * Waits until enough have replied or the time is over; who has not replied by then still may. Throws when the signal
   * aborts: the broadcast goes on.
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

  /** What holds for a wait that does not say: by the group's preset, else by the configuration. */
  terms(group: Group): { reducer: string; timeout: number } {
    const { reducer = defaultReducer, timeout = defaultGroupTimeout } = this.#options.defaults();
    return { reducer: group.reducer ?? reducer, timeout: group.timeout ?? timeout };
  }

  /** Stores replies as they come, and wakes those who wait. Returns its undo. */
  follow(): () => void {
    return this.#options.store.onCommit((events) => {
      for (const event of events) {
        if (event.type === "group.replied" || event.type === "group.settled") this.#hints.give(event.data.broadcast);
        else if (event.session !== null && endings.includes(event.type)) void this.#noticeEnd(event.session);
      }
    });
  }

  /** Takes up what an earlier daemon left: replies it did not store, members it did not let off. */
  async resume(): Promise<void> {
    const { store, inbox } = this.#options;
    for (const message of await store.read.broadcasts.letOffPending()) await inbox.cancel(message);
    for (const id of await store.read.broadcasts.allOpen()) await this.#fresh(id);
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
    const { clock } = this.#options;
    while (true) {
      const hint = Promise.withResolvers<void>();
      const awake = new AbortController();
      // Listening begins before the look, so that nothing falls between the two.
      const undo = this.#hints.listen(id, hint.resolve);
      try {
        const broadcast = await this.#fresh(id);
        if (isDone(broadcast)) return { broadcast, late: false };
        const left = deadline - clock.now();
        if (left <= 0) return { broadcast, late: true };
        await Promise.race([hint.promise, clock.sleep(left, AbortSignal.any([signal, awake.signal]))]);
      } catch (error) {
        throw signal.aborted ? new AegisError("unavailable", "the wait was cut; the broadcast goes on") : error;
      } finally {
        awake.abort();
        undo();
      }
    }
  }

  async #cancelLosers(id: BroadcastId): Promise<Broadcast> {
    const { store, clock, turns, log } = this.#options;
    const losers = await store.transact((tx) => letOff(tx, id, "another member replied first", clock.now()));
    // A turn whose start shared this commit is among those under way only after this turn of the event loop.
    if (losers.length > 0) await setImmediate();
    for (const { session, message } of losers) {
      const [only, ...more] = turns.current(session);
      // Whatever else the turn answers is somebody else's request.
      if (only?.id !== message || more.length > 0) continue;
      turns.interrupt(session).catch((error: unknown) => {
        log.warn("a turn that nobody waits for could not be cut", { session, error: errorText(error) });
      });
    }
    return this.#fresh(id);
  }

  async #noticeEnd(session: SessionId): Promise<void> {
    const { store, log } = this.#options;
    try {
      for (const id of await store.read.broadcasts.waitingFor(session)) await this.#fresh(id);
    } catch (error) {
      // Whoever looks at the broadcast next, or the next start, works it out again.
      log.warn("a reply to a group could not be stored yet", { session, error: errorText(error) });
    }
  }

  async #fresh(id: BroadcastId): Promise<Broadcast> {
    const { store, clock } = this.#options;
    const broadcast = await store.read.broadcasts.get(id);
    if (!broadcast) throw new AegisError("not_found", `no broadcast ${id}`);
    if (broadcast.settled_at !== null || !(await hasNews(store.read, broadcast))) return broadcast;
    return store.transact((tx) => collect(tx, id, clock.now()));
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

/** The live members but the one who asks: nobody can answer in the turn it asks in. */
async function audience(tx: StoreTx, group: Group, sender: Sender): Promise<{ id: SessionId; handle: string }[]> {
  const asker = sender.kind === "agent" ? sender.session : null;
  const rows = await Promise.all((await tx.groups.members(group.id)).map((session) => tx.sessions.get(session)));
  const live = rows.flatMap((row) => (row === null || row.closed_at !== null || row.id === asker ? [] : [row]));
  if (live.length > 0) return live;
  throw new AegisError("conflict", `group "${group.name}" has no open member to ask`, {
    hint: "add members, or dissolve it",
  });
}
