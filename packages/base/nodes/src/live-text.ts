/**
 * Shows the text of agents while they write it, including on other nodes. A node with a live subscriber asks for the
 * text of sessions, and the nodes of these sessions send it as notifications of the database, which stores none of it.
 * The text is encrypted, because every role of a database can listen. Text may be lost: an event with the whole text
 * follows.
 */
import type { Event, LiveDelta } from "@aegis/contract/event.ts";
import type { SessionId } from "@aegis/contract/ids.ts";
import type { EventHub } from "@aegis/events/hub.ts";
import type { Clock } from "@aegis/lib/clock.ts";
import { errorText, type Logger } from "@aegis/lib/log.ts";
import type { Store, StoreMembership } from "@aegis/store/store.ts";
import { joined, LateText, type PlacedText, pieces } from "./live-pieces.ts";
import { openText, sealText, textKey } from "./live-seal.ts";

export type LiveTextOptions = {
  store: Store;
  membership: StoreMembership;
  hub: EventHub;
  clock: Clock;
  log: Logger;
  signal: AbortSignal;
};

type Sent = { node: string; deltas: PlacedText[] };
/** Which sessions another node wants; null means all. */
type Wish = { until: number; sessions: ReadonlySet<string> | null };

const wishPrefix = "live ";
const textPrefix = "text ";
/** A request for live text is repeated while a client watches, and ends by itself. */
const repeatMs = 4_000;
const wishMs = 12_000;
/** Text is sent at most this often. */
const sendEveryMs = 50;
/** A notification holds less than 8,000 bytes. */
const mostSessions = 200;
const mostWaiting = 1_000_000;

export class LiveText {
  readonly #options: LiveTextOptions;
  readonly #wishes = new Map<string, Wish>();
  readonly #late: LateText;
  #key: Buffer | null = null;
  #waiting: PlacedText[] = [];
  #waitingSize = 0;
  #sending = false;
  #wishing: AbortController | null = null;
  #seq = 0;

  constructor(options: LiveTextOptions) {
    this.#options = options;
    this.#late = new LateText((delta) => options.hub.publishDelta(delta));
  }

  /** Follows the subscribers of this node and the wishes of others, until the signal aborts. */
  async start(): Promise<void> {
    const { store, membership, hub, clock, signal, log } = this.#options;
    this.#key = await textKey(store, clock.now());
    const stops = [
      membership.onHint((hint) => {
        if (hint.startsWith(wishPrefix)) this.#wish(hint.slice(wishPrefix.length));
        else if (hint.startsWith(textPrefix)) this.#received(hint.slice(textPrefix.length));
      }),
      store.onCommit((events) => this.#committed(events)),
      hub.onWatched(() => this.#watchedChanged()),
    ];
    this.#seq = await store.read.events.lastSeq();
    this.#late.reached(this.#seq, []);
    this.#watchedChanged();
    const stop = () => {
      for (const one of stops) one();
      this.#wishing?.abort();
    };
    if (signal.aborted) stop();
    else signal.addEventListener("abort", stop, { once: true });
    log.debug("live text crosses nodes", { node: membership.node });
  }

  /** Sends the text of a session of this node to the nodes that want it. */
  publish(delta: LiveDelta): void {
    if (this.#wishes.size === 0 || !this.#isWanted(delta.session)) return;
    this.#waiting.push({ ...delta, after: this.#seq });
    this.#waitingSize += delta.text.length;
    // The network is slower than the agent: the reader sees the text when it is complete.
    if (this.#waitingSize > mostWaiting) this.#drop();
    if (!this.#sending) void this.#send();
  }

  async #send(): Promise<void> {
    const { membership, clock, signal, log } = this.#options;
    this.#sending = true;
    try {
      while (this.#waiting.length > 0 && !signal.aborted && this.#key !== null) {
        const deltas = joined(this.#waiting);
        this.#drop();
        const sent = pieces(deltas).map((some): Sent => ({ node: membership.node, deltas: some }));
        const key = this.#key;
        await membership.say(sent.map((one) => `${textPrefix}${sealText(key, JSON.stringify(one))}`));
        await clock.sleep(sendEveryMs, signal);
      }
    } catch (error) {
      this.#drop();
      if (!signal.aborted) log.debug("live text was not sent to other nodes", { error: errorText(error) });
    } finally {
      this.#sending = false;
    }
  }

  #drop(): void {
    this.#waiting = [];
    this.#waitingSize = 0;
  }

  #isWanted(session: SessionId): boolean {
    const now = performance.now();
    for (const [node, { until }] of this.#wishes) if (until < now) this.#wishes.delete(node);
    return [...this.#wishes.values()].some(({ sessions }) => sessions === null || sessions.has(session));
  }

  #wish(text: string): void {
    const [node = "", sessions = ""] = text.split(" ");
    if (node === this.#options.membership.node) return;
    const wanted = sessions === "*" ? null : new Set(sessions.split(","));
    this.#wishes.set(node, { until: performance.now() + wishMs, sessions: wanted });
  }

  #received(sealed: string): void {
    const { membership, hub } = this.#options;
    if (this.#key === null || hub.watched === "nothing") return;
    const text = openText(this.#key, sealed);
    if (text === null) return;
    const { node, deltas } = JSON.parse(text) as Sent;
    if (node !== membership.node) this.#late.take(deltas);
  }

  #committed(events: readonly Event[]): void {
    this.#seq = events.at(-1)?.seq ?? this.#seq;
    this.#late.reached(this.#seq, events);
  }

  #watchedChanged(): void {
    const { hub } = this.#options;
    this.#wishing?.abort();
    this.#wishing = null;
    if (hub.watched === "nothing") return;
    this.#wishing = new AbortController();
    void this.#keepWishing(AbortSignal.any([this.#wishing.signal, this.#options.signal]));
  }

  async #keepWishing(signal: AbortSignal): Promise<void> {
    const { membership, hub, clock, log } = this.#options;
    while (!signal.aborted) {
      const { watched } = hub;
      if (watched === "nothing") return;
      const sessions = watched === "all" || watched.size > mostSessions ? "*" : [...watched].join(",");
      await membership
        .say([`${wishPrefix}${membership.node} ${sessions}`])
        .catch((error: unknown) => log.debug("live text was not requested", { error: errorText(error) }));
      await clock.sleep(repeatMs, signal).catch(() => {});
    }
  }
}
