/**
 * Shows answers while they are written: one message per place, which grows by edits and is removed once the answer
 * itself is sent. An edit does not notify a person, so the answer is always a separate message. Previews are lossy;
 * only their ids are stored, so that the next start removes those that a crash left behind.
 */
import type { LiveDelta } from "@aegis/contract/event.ts";
import type { SessionId, TurnId } from "@aegis/contract/ids.ts";
import type { EventHub } from "@aegis/events/hub.ts";
import type { Clock } from "@aegis/lib/clock.ts";
import { errorText, type Logger } from "@aegis/lib/log.ts";
import type { Store } from "@aegis/store/store.ts";
import type { Channel, ChatPlace, Preview } from "../channel.ts";
import { ChannelFault } from "../fault.ts";

export type PreviewsOptions = {
  store: Store;
  clock: Clock;
  log: Logger;
  hub: Pick<EventHub, "subscribe" | "lastSeq">;
  name: string;
  channel: Pick<Channel, "format">;
  preview: Preview;
  /** Whether the place may be used now. The next message then waits for the pace of the place. */
  claim: (place: ChatPlace) => Promise<boolean>;
};

type Writing = { turn: TurnId; texts: Map<string, string>; ended: AbortController; answered: boolean };
type Shown = { place: ChatPlace; id: string };

const retryMs = 5_000;
const lookMs = 500;
/** An answer that waits longer than this, because the service is away, loses its preview. */
const longestWaitMs = 120_000;

export class Previews {
  readonly #options: PreviewsOptions;
  readonly #writing = new Map<SessionId, Writing>();
  #shown: Shown[] = [];

  constructor(options: PreviewsOptions) {
    this.#options = options;
  }

  /** Resolves when the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { hub, log, name, clock } = this.#options;
    while (!signal.aborted) {
      try {
        await this.#removeOld(signal);
        for await (const item of hub.subscribe({ after: await hub.lastSeq(), live: true, signal })) {
          if (item.kind === "delta") this.#written(item.delta, signal);
          else if (item.event.type === "turn.ended" && item.event.session !== null)
            this.#ended(item.event.session, item.event.data.reason !== "lost");
        }
      } catch (error) {
        if (signal.aborted) return;
        log.warn("previews of a channel stopped", { channel: name, error: errorText(error) });
        await clock.sleep(retryMs, signal).catch(() => {});
      }
    }
  }

  #written({ type, session, turn, message, offset, text }: LiveDelta, signal: AbortSignal): void {
    if (type !== "text") return;
    const known = this.#writing.get(session);
    const writing = known?.turn === turn ? known : this.#begin(session, turn, signal);
    const before = writing.texts.get(message) ?? "";
    writing.texts.set(message, before.slice(0, offset) + text);
  }

  #begin(session: SessionId, turn: TurnId, signal: AbortSignal): Writing {
    this.#ended(session, false);
    const writing: Writing = { turn, texts: new Map(), ended: new AbortController(), answered: false };
    this.#writing.set(session, writing);
    const { store, name, log } = this.#options;
    const show = async () => {
      const places = await store.read.channels.placesOf(name, session);
      await Promise.all(places.map((place) => this.#follow(writing, place, signal)));
    };
    show().catch((error: unknown) => {
      if (!signal.aborted) log.warn("a preview failed", { channel: name, error: errorText(error) });
    });
    return writing;
  }

  #ended(session: SessionId, answered: boolean): void {
    const writing = this.#writing.get(session);
    if (writing === undefined) return;
    this.#writing.delete(session);
    writing.answered = answered;
    writing.ended.abort();
  }

  /** A short answer ends before its first preview. */
  async #follow(writing: Writing, place: ChatPlace, signal: AbortSignal): Promise<void> {
    const { preview, clock, channel, claim } = this.#options;
    const over = AbortSignal.any([writing.ended.signal, signal]);
    let id: string | null = null;
    let shown = "";
    let waitMs = preview.everyMs(place);
    while (true) {
      await clock.sleep(waitMs, over).catch(() => {});
      waitMs = preview.everyMs(place);
      if (over.aborted) break;
      const text = [...writing.texts.values()].join("\n\n").trim();
      const part = channel.format(`${text}\n\n…`).at(-1);
      if (text === "" || text === shown || part === undefined || !(await claim(place))) continue;
      try {
        const now = await preview.show(place, part, id, signal);
        if (id === null) await this.#remember([...this.#shown, { place, id: now }]);
        id = now;
        shown = text;
      } catch (error) {
        if (!(error instanceof ChannelFault) || error.kind !== "rate_limited") break;
        waitMs = Math.max(waitMs, error.afterMs ?? 0);
      }
    }
    if (id === null || signal.aborted) return;
    if (writing.answered) await this.#answerSent(writing.turn, place, signal);
    await this.#remove([{ place, id }], signal);
  }

  /** Resolves when the first part of the answer was sent or given up. */
  async #answerSent(turn: TurnId, place: ChatPlace, signal: AbortSignal): Promise<void> {
    const { store, name, clock } = this.#options;
    const until = clock.now() + longestWaitMs;
    while (clock.now() < until && !signal.aborted) {
      const row = await store.read.channels.outByKey(name, `turn:${turn}:${place}:0`);
      if (row?.state === "sent" || row?.state === "failed") return;
      await clock.sleep(lookMs, signal);
    }
  }

  async #removeOld(signal: AbortSignal): Promise<void> {
    const { store } = this.#options;
    const stored = await store.read.channels.cursor(this.#mark);
    if (stored === null) return;
    this.#shown = JSON.parse(stored.position) as Shown[];
    await this.#remove(this.#shown, signal);
  }

  async #remove(gone: readonly Shown[], signal: AbortSignal): Promise<void> {
    const { preview } = this.#options;
    const isGone = (one: Shown) => gone.some(({ place, id }) => place === one.place && id === one.id);
    for (const { place, id } of gone) {
      try {
        await preview.remove(place, id, signal);
      } catch (error) {
        // It is removed at the next start, unless it can never be removed.
        if (!(error instanceof ChannelFault) || error.kind !== "rejected") throw error;
      }
    }
    await this.#remember(this.#shown.filter((one) => !isGone(one)));
  }

  async #remember(shown: Shown[]): Promise<void> {
    const { store, clock } = this.#options;
    this.#shown = shown;
    await store.transact((tx) => tx.channels.setCursor(this.#mark, JSON.stringify(shown), clock.now()));
  }

  get #mark(): string {
    return `previews:${this.#options.name}`;
  }
}
