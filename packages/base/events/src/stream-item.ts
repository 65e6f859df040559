/** What a subscriber receives. Created once per event and shared by all subscribers, including its serialized form. */
import type { Event, LiveDelta } from "@aegis/contract/event.ts";
import type { EventText } from "@aegis/store/store.ts";

export type StreamItem = EventItem | DeltaItem;

type Serialised = { readonly json: string; readonly bytes: number };

export type DeltaItem = { readonly kind: "delta"; readonly delta: LiveDelta } & Serialised;

/** Most readers only pass the text on, so a stored event is parsed when a reader asks for it. */
export class EventItem {
  readonly kind = "event";
  readonly seq: number;
  readonly json: string;
  readonly bytes: number;
  #event: Event | null;

  private constructor({ seq, json }: EventText, event: Event | null) {
    this.seq = seq;
    this.json = json;
    this.bytes = Buffer.byteLength(json);
    this.#event = event;
  }

  static committed(event: Event): EventItem {
    return new EventItem({ seq: event.seq, json: JSON.stringify(event) }, event);
  }

  static stored(text: EventText): EventItem {
    return new EventItem(text, null);
  }

  get event(): Event {
    this.#event ??= JSON.parse(this.json) as Event;
    return this.#event;
  }
}

export function deltaItem(delta: LiveDelta): DeltaItem {
  const json = JSON.stringify(delta);
  return { kind: "delta", delta, json, bytes: Buffer.byteLength(json) };
}
