/** The routes of events. A stream writes a subscription to a socket, no faster than the client reads. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { AegisError } from "@aegis/contract/errors.ts";
import type { EventHub, StreamItem } from "@aegis/events/hub.ts";
import type { Clock } from "@aegis/lib/clock.ts";
import type { Logger } from "@aegis/lib/log.ts";
import { toAegisError } from "./refusals.ts";
import type { Handlers } from "./requests.ts";

export type EventStreamOptions = {
  clock: Clock;
  log: Logger;
  heartbeatMs: number;
  /** How long the socket may stay full before the client is dropped. */
  stallMs: number;
  /** Streams that are open at once. */
  streams: number;
};

export type Subscribe = (signal: AbortSignal) => AsyncIterable<StreamItem>;

export const streamHeaders: Readonly<Record<string, string>> = {
  "content-type": "text/event-stream; charset=utf-8",
  "cache-control": "no-store, no-transform",
  // Proxies that buffer would hold events back.
  "x-accel-buffering": "no",
  connection: "close",
};

/** How long a dropped client gets to read that it was. */
const lingerMs = 1_000;

export class EventStreams {
  readonly #options: EventStreamOptions;
  readonly #open = new Set<AbortController>();
  #ended = false;
  /** Frames by item: the subscription hands the same item to every subscriber. */
  readonly #frames = new WeakMap<StreamItem, Buffer>();

  constructor(options: EventStreamOptions) {
    this.#options = options;
  }

  /** Throws when no further stream can be served. */
  requireRoom(): void {
    if (this.#open.size < this.#options.streams) return;
    throw new AegisError("too_many", `${this.#open.size} event streams are open already`, {
      hint: "close one; a client needs no more than one stream for all sessions",
    });
  }

  /** Resolves when the client is gone, was dropped, or the streams were ended. Never rejects. */
  async send(response: ServerResponse, after: number, subscribe: Subscribe): Promise<void> {
    const scope = new AbortController();
    const stop = () => scope.abort();
    this.#open.add(scope);
    if (this.#ended) stop();
    response.on("close", stop);
    // A broken socket is told by `close`; without a listener its error would end the process.
    response.on("error", stop);
    try {
      response.writeHead(200, streamHeaders);
      // Tells where a client that saw no event yet has to resume.
      response.write(`id: ${after}\n\n`);
      void this.#beat(response, scope.signal);
      const dropped = await this.#pump(response, subscribe, scope.signal);
      if (dropped !== null && !response.destroyed)
        response.write(`event: dropped\ndata: ${JSON.stringify(dropped)}\n\n`);
    } finally {
      this.#open.delete(scope);
      scope.abort();
      response.end();
      void this.#destroyLater(response);
    }
  }

  /** Also those that are still to come. */
  endAll(): void {
    this.#ended = true;
    for (const scope of this.#open) scope.abort();
  }

  /** Why the client was dropped, or null when it left. */
  async #pump(response: ServerResponse, subscribe: Subscribe, signal: AbortSignal): Promise<Dropped | null> {
    try {
      for await (const item of subscribe(signal)) {
        if (response.write(this.#frame(item))) continue;
        if (!(await this.#drained(response, signal))) return { reason: "slow" };
      }
      return null;
    } catch (error) {
      const { message, details } = toAegisError(error, this.#options.log, { stream: true });
      return { reason: "failed", message, details };
    }
  }

  /** False when the socket stayed full for too long. */
  async #drained(response: ServerResponse, signal: AbortSignal): Promise<boolean> {
    const waiting = new AbortController();
    const stop = () => waiting.abort();
    response.once("drain", stop);
    signal.addEventListener("abort", stop, { once: true });
    try {
      if (signal.aborted) return true;
      await this.#options.clock.sleep(this.#options.stallMs, waiting.signal);
      return false;
    } catch {
      return true;
    } finally {
      response.off("drain", stop);
      signal.removeEventListener("abort", stop);
    }
  }

  async #beat(response: ServerResponse, signal: AbortSignal): Promise<void> {
    try {
      while (true) {
        await this.#options.clock.sleep(this.#options.heartbeatMs, signal);
        // A full socket has enough to say.
        if (!response.writableNeedDrain) response.write(": still here\n\n");
      }
    } catch {
      // The stream has ended.
    }
  }

  /** `end` waits for a client that no longer reads. */
  async #destroyLater(response: ServerResponse): Promise<void> {
    if (response.closed) return;
    const closed = new AbortController();
    response.once("close", () => closed.abort());
    await this.#options.clock.sleep(lingerMs, closed.signal).catch(() => {});
    response.destroy();
  }

  #frame(item: StreamItem): Buffer {
    const made = this.#frames.get(item);
    if (made !== undefined) return made;
    const head = item.kind === "event" ? `id: ${item.seq}\nevent: event\n` : "event: delta\n";
    const frame = Buffer.from(`${head}data: ${item.json}\n\n`);
    this.#frames.set(item, frame);
    return frame;
  }
}

type Dropped = { reason: "slow" } | { reason: "failed"; message: string; details: unknown };

/** What these handlers and the stream call. */
export type EventServices = { events: Pick<EventHub, "list" | "lastSeq" | "subscribe"> };

export function eventHandlers({ events }: EventServices) {
  return {
    // The number is read last, so that it is never below an event of the page.
    listEvents: async ({ query }) => ({ events: await events.list(query), last_seq: await events.lastSeq() }),
  } satisfies Partial<Handlers>;
}

/** Where a stream starts: what the query says, else where the client's last connection broke, else now. */
export async function streamStart(
  request: IncomingMessage,
  events: Pick<EventHub, "lastSeq">,
  after: number | undefined,
): Promise<number> {
  const last = await events.lastSeq();
  const start = after ?? lastEventId(request) ?? last;
  if (start > last) {
    throw new AegisError("conflict", `there is no event ${start}: the last one is ${last}`, {
      hint: "the event log was recreated; start again with after=0",
    });
  }
  return start;
}

function lastEventId({ headers }: IncomingMessage): number | undefined {
  const text = headers["last-event-id"];
  if (typeof text !== "string" || text === "") return undefined;
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw new AegisError("invalid", `Last-Event-ID ${JSON.stringify(text)} is not the number of an event`);
}
