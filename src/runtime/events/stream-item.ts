/** What a subscriber receives. Created once per event and shared by all subscribers, including its serialized form. */
import type { Event, LiveDelta } from "../../contract/event.ts";

export type StreamItem = EventItem | DeltaItem;
export type EventItem = { kind: "event"; event: Event } & Serialised;
export type DeltaItem = { kind: "delta"; delta: LiveDelta } & Serialised;

type Serialised = { readonly json: string; readonly bytes: number };

export function eventItem(event: Event): EventItem {
  return { kind: "event", event, ...serialise(event) };
}

export function deltaItem(delta: LiveDelta): DeltaItem {
  return { kind: "delta", delta, ...serialise(delta) };
}

function serialise(value: Event | LiveDelta): Serialised {
  const json = JSON.stringify(value);
  return { json, bytes: Buffer.byteLength(json) };
}
