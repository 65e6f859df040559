/** The tables of events and of how far each client has read them, part of the store port. */
import type { Event, EventType, NewEvent } from "@aegis/contract/event.ts";
import type { RunId, SessionId } from "@aegis/contract/ids.ts";

export type EventQuery = {
  after?: number;
  before?: number;
  session?: SessionId;
  /** Events of this queue and its tasks. */
  queue?: string;
  /** Events of this run. */
  run?: RunId;
  /** Events of this schedule and its firings. */
  schedule?: string;
  types?: readonly EventType[];
  limit: number;
  /** `newest` takes the newest `limit`; rows still come back in order of `seq`. */
  from?: "oldest" | "newest";
};

/** An event as JSON. */
export type EventText = { seq: number; json: string };

export interface EventReads {
  list(query: EventQuery): Promise<Event[]>;
  /** The same events, as texts that were not parsed. */
  texts(query: EventQuery): Promise<EventText[]>;
  /** How large the data of these events is, without reading it. */
  sizes(query: EventQuery): Promise<{ seq: number; bytes: number }[]>;
  lastSeq(): Promise<number>;
}

export interface EventTable extends EventReads {
  /**
   * Numbers the event after all events that exist; numbers have no gaps. It is published when the transaction commits.
   */
  append(event: NewEvent, at: number): Promise<Event>;
}

export interface SeenReads {
  /** The number up to which the client has read; 0 when it never said. */
  get(client: string, session: SessionId): Promise<number>;
}

export interface SeenTable extends SeenReads {
  /** Never moves back. */
  set(client: string, session: SessionId, seq: number): Promise<void>;
}
