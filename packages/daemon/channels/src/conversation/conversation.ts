/** Runs one channel through which people talk to sessions: connects, receives, sends, and reports its state. */
import type { ChannelView, Pairing } from "@aegis/contract/channel.ts";
import { AegisError } from "@aegis/contract/errors.ts";
import { type Backoff, backoffMs } from "@aegis/lib/backoff.ts";
import { errorText } from "@aegis/lib/log.ts";
import type { ChannelOutboxRow, ChannelPeer, StoreReads, StoreTx } from "@aegis/store/store.ts";
import type { AskCard, ChannelAccount, ChannelHost, ChatPlace, Content, Inbound } from "../channel.ts";
import { ChannelFault } from "../fault.ts";
import { EventFeed } from "../feed.ts";
import { ChannelHealth } from "../health.ts";
import { Outbox } from "../outbox.ts";
import { ReceivedItems } from "../received.ts";
import { type ChannelBase, type RunningChannel, Tasks } from "../running.ts";
import { Wake } from "../wake.ts";
import { deliveriesOf, followedEvents, type SettledBody } from "./deliveries.ts";
import { PairingCodes } from "./pairing.ts";
import { Previews, type PreviewsOptions } from "./previews.ts";
import { Talk, type TalkOptions } from "./talk.ts";
import { Typing } from "./typing.ts";

export type ConversationOptions = ChannelBase &
  Omit<TalkOptions, "now" | "deliveries" | "added"> & {
    /** People whom the configuration lists, by the service's ids. */
    users: readonly string[];
    /** Places that several people share and that the configuration lists. */
    sharedPlaces: readonly ChatPlace[];
    /** Whether asks of sessions without a place are shown to everyone who may use the channel. */
    showAllAsks: boolean;
    /** Follows text while it is written, for previews; null shows none. */
    hub: PreviewsOptions["hub"] | null;
    /** How to repair a rejected token. */
    fix: string;
    random?: () => number;
  };

const backoff: Backoff = { firstMs: 1_000, longestMs: 60_000 };
const conflictMs = 30_000;

export function startConversation(options: ConversationOptions): RunningChannel {
  const running = new ConversationChannel(options);
  running.start();
  return running;
}

class ConversationChannel implements RunningChannel {
  readonly name: string;
  readonly #options: ConversationOptions;
  readonly #health: ChannelHealth;
  readonly #codes: PairingCodes;
  readonly #outbox: Outbox;
  readonly #received: ReceivedItems<Inbound>;
  readonly #feed: EventFeed;
  readonly #talk: Talk;
  readonly #typing: Typing;
  readonly #previews: Previews | null;
  readonly #tasks = new Tasks();
  readonly #retry: Wake;
  #account: ChannelAccount | null = null;

  constructor(options: ConversationOptions) {
    const { store, clock, log, name, channel, fix, agent, threads, sessions, inbox, asks, agents } = options;
    const { attachments, root, dir } = options;
    this.#options = options;
    this.name = name;
    this.#health = new ChannelHealth({ clock, log, channel: name });
    this.#codes = new PairingCodes(clock);
    this.#retry = new Wake(clock);
    this.#outbox = new Outbox({
      store,
      clock,
      log,
      channel: name,
      health: this.#health,
      fix,
      okDetail: () => this.#connectedText(),
      paceMs: (place) => channel.paceMs(place),
      chatOf: (place) => channel.chatOf(place),
      deliver: (row, how) => this.#deliver(row, how),
    });
    const deliveries = { name, channel, homes: (read: StoreReads) => this.#homes(read) };
    const added = () => this.#outbox.wake();
    this.#talk = new Talk({
      name,
      channel,
      agent,
      threads,
      store,
      now: () => clock.now(),
      sessions,
      inbox,
      asks,
      agents,
      attachments,
      root,
      dir,
      deliveries,
      added,
    });
    this.#received = new ReceivedItems<Inbound>({
      store,
      clock,
      log,
      channel: name,
      handle: (item, signal) => this.#talk.handle(item, signal),
      refused: (item, error) => this.#talk.refused(item, error),
    });
    this.#feed = new EventFeed({
      store,
      clock,
      log,
      channel: name,
      types: followedEvents,
      deliveries: (tx, event) => deliveriesOf(tx, event, deliveries),
      added,
    });
    this.#typing = new Typing({ store, clock, name, channel });
    const { hub } = options;
    const { preview } = channel;
    const claim = (place: ChatPlace) => this.#outbox.claim(place);
    this.#previews =
      hub === null || preview === null ? null : new Previews({ store, clock, log, hub, name, channel, preview, claim });
  }

  start(): void {
    this.#tasks.add(async (signal) => {
      await this.#feed.begin(signal);
      await Promise.all([this.#feed.run(signal), this.#connect(signal)]);
    });
    this.#tasks.add((signal) => this.#outbox.run(signal));
    this.#tasks.add((signal) => this.#received.run(signal));
    this.#tasks.add((signal) => this.#typing.run(signal));
    const previews = this.#previews;
    if (previews !== null) this.#tasks.add((signal) => previews.run(signal));
  }

  async view(): Promise<ChannelView> {
    const { store, users } = this.#options;
    const counts = await store.read.channels.outCounts(this.name);
    const paired = await store.read.channels.peers(this.name);
    const listed = users
      .filter((user) => paired.every(({ peer }) => peer !== user))
      .map((peer) => ({ peer, name: "", paired_at: null }));
    const peers = [...paired.map(({ peer, name, paired_at }) => ({ peer, name, paired_at })), ...listed];
    return { name: this.name, kind: "people", ...this.#health.view(), ...counts, peers };
  }

  async pair(): Promise<Pairing> {
    const { code, expires_at } = this.#codes.create();
    return { channel: this.name, code, expires_at, link: this.#account?.pairLink(code) ?? null };
  }

  unpair(peer: string): Promise<boolean> {
    return this.#options.store.transact((tx) => tx.channels.removePeer(this.name, peer));
  }

  async test(signal: AbortSignal): Promise<string> {
    const { channel, store, clock } = this.#options;
    const account = await channel.connect(signal).catch((error: unknown) => {
      throw new AegisError("upstream", errorText(error));
    });
    this.#account = account;
    // What stopped because of a rejected token continues.
    this.#retry.wake();
    await this.#outbox.hurry();
    const homes = await this.#everyone(store.read);
    const [part = { text: "A test message from Aegis.", marks: [] }] = channel.format("A test message from Aegis.");
    const body: Content = { kind: "text", part };
    await store.transact(async (tx) => {
      for (const place of homes) {
        const key = `test:${clock.now()}:${place}`;
        const row = { key, place, session: null, ask: null, kind: "text" as const, body };
        await tx.channels.addOut({ ...row, channel: this.name, created_at: clock.now() });
      }
    });
    this.#outbox.wake();
    const people =
      homes.length === 0
        ? "no person is paired yet; run aegis channel pair"
        : `a test message goes to ${homes.length === 1 ? "one chat" : `${homes.length} chats`}`;
    return [`connected as ${account.label}`, people, ...account.notes].join("; ");
  }

  stop(deadline: AbortSignal): Promise<void> {
    return this.#tasks.stop(deadline);
  }

  #connectedText(): string {
    return this.#account === null ? "connected" : `connected as ${this.#account.label}`;
  }

  /** Connects and receives until the channel stops. Waits between attempts as the failure requires. */
  async #connect(signal: AbortSignal): Promise<void> {
    const { channel, log } = this.#options;
    let failures = 0;
    while (!signal.aborted) {
      this.#retry.clear();
      try {
        const account = await channel.connect(signal);
        this.#account = account;
        this.#works();
        const alive = () => {
          failures = 0;
          this.#works();
        };
        await channel.receive(this.#host(account, alive), signal);
      } catch (error) {
        if (signal.aborted) return;
        failures += 1;
        if (!(error instanceof ChannelFault))
          log.error("a channel failed", { channel: this.name, error: errorText(error) });
        await this.#retry.sleep(this.#waitAfter(error, failures), signal);
      }
    }
  }

  /** Receiving may work while the service makes deliveries wait; that stays visible. */
  #works(): void {
    if (!this.#outbox.isPaused) this.#health.ok(this.#connectedText());
  }

  /** Null waits until the settings change or a person tests the channel. */
  #waitAfter(error: unknown, failures: number): number | null {
    const { random = Math.random, fix } = this.#options;
    const text = errorText(error);
    const fault = error instanceof ChannelFault ? error : null;
    switch (fault?.kind) {
      case "unauthorized":
        this.#health.set("unauthorized", text, fix);
        return null;
      case "conflict":
        this.#health.set("conflict", text, "stop the other program that uses this account");
        return conflictMs * (1 + random() / 4);
      case "rate_limited":
        this.#health.set("rate_limited", text);
        return fault.afterMs ?? backoff.firstMs;
      default:
        this.#health.set("unreachable", text);
        return backoffMs(backoff, failures, random);
    }
  }

  #host(account: ChannelAccount, alive: () => void): ChannelHost {
    const { store, clock } = this.#options;
    const cursor = `channel:${account.id}`;
    return {
      cursor: () => store.read.channels.cursor(cursor),
      alive,
      admit: async (batch, position) => {
        const ignored = await store.transact(async (tx) => {
          let others = 0;
          for (const inbound of batch) if (!(await this.#admitIn(tx, inbound))) others += 1;
          if (position !== null) await tx.channels.setCursor(cursor, position, clock.now());
          return others;
        });
        for (let count = 0; count < ignored; count++) this.#health.ignore();
        this.#received.wake();
        this.#outbox.wake();
      },
    };
  }

  /** Returns false if the sender is not allowed. Nothing of it is stored then. */
  async #admitIn(tx: StoreTx, inbound: Inbound): Promise<boolean> {
    const { users, sharedPlaces, channel } = this.#options;
    const { peer, place, content, shared, key } = inbound;
    const isKnown = users.includes(peer.id) || (await tx.channels.peer(this.name, peer.id)) !== null;
    if (content.kind === "pair" && !isKnown) return !shared && (await this.#pairIn(tx, inbound, content.code));
    if (!isKnown || (shared && !sharedPlaces.includes(channel.chatOf(place)))) return false;
    await this.#received.storeIn(tx, [{ key, payload: inbound }]);
    return true;
  }

  async #pairIn(tx: StoreTx, { peer, place, key }: Inbound, code: string): Promise<boolean> {
    const { clock, channel, log } = this.#options;
    if (!this.#codes.take(code)) return false;
    const row: ChannelPeer = { channel: this.name, peer: peer.id, name: peer.name, place, paired_at: clock.now() };
    await tx.channels.putPeer(row);
    const [part = { text: "Paired.", marks: [] }] = channel.format(
      "You are paired with Aegis. /help lists the commands.",
    );
    const body: Content = { kind: "text", part };
    const out = { key: `in:${key}`, place, session: null, ask: null, kind: "text" as const, body };
    await tx.channels.addOut({ ...out, channel: this.name, created_at: clock.now() });
    log.info("a person was paired with a channel", { channel: this.name, peer: peer.id });
    return true;
  }

  async #homes(read: StoreReads): Promise<readonly ChatPlace[]> {
    return this.#options.showAllAsks ? this.#everyone(read) : [];
  }

  /** The private chat of everyone who may use the channel. A service names a private chat like the person. */
  async #everyone(read: StoreReads): Promise<readonly ChatPlace[]> {
    const paired = (await read.channels.peers(this.name)).map(({ place }) => this.#options.channel.chatOf(place));
    return [...new Set([...paired, ...this.#options.users])];
  }

  async #deliver(row: ChannelOutboxRow, how: { repeated: boolean; signal: AbortSignal }): Promise<string | null> {
    const { channel, store } = this.#options;
    const options = { ...how, key: row.key };
    if (row.kind === "ask") return channel.ask(row.place, row.body as AskCard, { ...options, settles: null });
    if (row.kind !== "ask_settled") return channel.send(row.place, row.body as Content, options);
    const { settles, card } = row.body as SettledBody;
    const shown = await store.read.channels.outByKey(this.name, settles);
    // The ask was never shown, so there is nothing to replace.
    if (shown?.external_id == null) return null;
    await channel.ask(row.place, card, { ...options, settles: shown.external_id });
    return null;
  }
}
