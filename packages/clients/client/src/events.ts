/** Follows the daemon's events across broken connections. Each event arrives once and in order. */
import { AegisError, isAegisError } from "@aegis/contract/errors.ts";
import type { Event, LiveDelta } from "@aegis/contract/event.ts";
import type { SessionId } from "@aegis/contract/ids.ts";
import { type Backoff, backoffMs } from "@aegis/lib/backoff.ts";
import { systemClock } from "@aegis/lib/clock.ts";
import type { Client } from "./client.ts";
import { type SseBlock, SseParser } from "./sse-parser.ts";

export type FollowedItem = { kind: "event"; event: Event } | { kind: "delta"; delta: LiveDelta };

export type FollowOptions = {
  /** Return events after this sequence number; if absent, only new events. */
  after?: number | undefined;
  session?: SessionId | undefined;
  /**
   * Also return text deltas. Deltas sent while the connection was down are missing until the event with the whole text
   * arrives.
   */
  live?: boolean | undefined;
  signal?: AbortSignal | undefined;
  /** The daemon has answered the caller before: a first connection that fails is a lost one, and is tried again. */
  reached?: boolean | undefined;
  /** Called when the daemon has accepted a connection, the first one and each later one. */
  onConnect?: () => void;
  /** Called before each reconnect with the error that ended the last connection. */
  onReconnect?: (attempt: number, error: unknown) => void;
  /** Waits between attempts. */
  sleep?: (ms: number, signal?: AbortSignal) => Promise<void>;
  /** The daemon sends a heartbeat every 15 s. A connection that is silent for longer than this is closed. */
  silenceMs?: number;
};

const backoff: Backoff = { firstMs: 50, longestMs: 5_000 };
/** About a minute and a half without a response. */
const maxAttempts = 25;

/**
 * Follows the daemon's events: each event once, in order, across broken connections and restarts of the daemon.
 * Ends when the signal aborts. Throws if the first connection fails (unless `reached`), if the daemon refuses the request, or if the
 * daemon does not come back within about a minute and a half.
 *
 * @example
 * ```ts
 * import { connect, followEvents } from "aegis/client";
 *
 * const client = await connect();
 * for await (const item of followEvents(client, { after: 0 })) {
 *   if (item.kind === "event") process.stdout.write(`${item.event.seq} ${item.event.type}\n`);
 * }
 * ```
 */
export async function* followEvents(
  client: Client,
  options: FollowOptions = {},
): AsyncGenerator<FollowedItem, void, undefined> {
  const { signal, sleep = systemClock.sleep } = options;
  const position = { after: options.after };
  let connectedOnce = options.reached ?? false;
  let attempt = 0;
  while (!signal?.aborted) {
    const failuresBefore = attempt;
    let ending: unknown = null;
    let connected = false;
    try {
      for await (const item of followOnce(client, options, position)) {
        connectedOnce = true;
        attempt = 0;
        if (!connected) options.onConnect?.();
        connected = true;
        if (item !== null) yield item;
      }
    } catch (error) {
      if (signal?.aborted) return;
      if (!connectedOnce || !canRetry(error)) throw error;
      ending = error;
      // Limits retries against a daemon that accepts the connection and then always fails.
      if (isAegisError(error)) attempt = failuresBefore;
    }
    if (signal?.aborted) return;
    attempt += 1;
    if (attempt > maxAttempts) {
      throw new AegisError("unavailable", `the daemon at ${client.url} did not come back`, { cause: ending });
    }
    options.onReconnect?.(attempt, ending);
    try {
      await sleep(backoffMs(backoff, attempt, Math.random), signal);
    } catch (error) {
      if (signal?.aborted) return;
      throw error;
    }
  }
}

type Position = { after: number | undefined };

/**
 * Follows one connection. Yields null for blocks that only move the position, which shows the caller that it is
 * connected.
 */
async function* followOnce(
  client: Client,
  options: FollowOptions,
  position: Position,
): AsyncGenerator<FollowedItem | null, void, undefined> {
  const connection = new AbortController();
  const stop = () => connection.abort(options.signal?.reason);
  options.signal?.addEventListener("abort", stop, { once: true });
  const silence = silenceTimer(options.silenceMs ?? 45_000, connection);
  silence.start();
  try {
    const response = await client.open("streamEvents", {
      query: {
        ...(position.after === undefined ? {} : { after: position.after }),
        ...(options.session === undefined ? {} : { session: options.session }),
        live: options.live ?? false,
      },
      signal: connection.signal,
    });
    options.onConnect?.();
    const parser = new SseParser();
    // Not every browser can iterate over a stream.
    const reader = response.body?.getReader();
    for (let read = await reader?.read(); read?.value !== undefined; read = await reader?.read()) {
      // A slow consumer must not count as a silent daemon.
      silence.stop();
      for (const block of parser.push(read.value)) {
        if (block.event === "dropped") return dropped(block.data);
        yield readBlock(block, position);
      }
      silence.start();
    }
  } finally {
    silence.stop();
    options.signal?.removeEventListener("abort", stop);
    connection.abort();
  }
}

function readBlock(block: SseBlock, position: Position): FollowedItem | null {
  if (block.event === "event" && block.data !== null) {
    const event = JSON.parse(block.data) as Event;
    if (position.after !== undefined && event.seq <= position.after) return null;
    position.after = event.seq;
    return { kind: "event", event };
  }
  if (block.event === "delta" && block.data !== null) {
    return { kind: "delta", delta: JSON.parse(block.data) as LiveDelta };
  }
  // Without it, a connection that broke before its first event would resume too late.
  if (block.id !== null) position.after ??= Number(block.id);
  return null;
}

/** A reader that was too slow resumes at its position; a daemon that failed may fail again. */
function dropped(data: string | null): void {
  const { reason, message } = JSON.parse(data ?? "{}") as { reason?: string; message?: string };
  if (reason === "failed") throw new AegisError("unavailable", message ?? "the daemon closed the event stream");
}

/** A refusal would repeat; a daemon that is down or restarting comes back. */
function canRetry(error: unknown): boolean {
  return !isAegisError(error) || error.status >= 500 || error.code === "too_many" || error.code === "timeout";
}

function silenceTimer(ms: number, connection: AbortController): { start(): void; stop(): void } {
  const giveUp = () => connection.abort(new AegisError("timeout", `the event stream was silent for ${ms} ms`));
  let timer: ReturnType<typeof setTimeout> | undefined;
  return {
    start() {
      timer = setTimeout(giveUp, ms);
    },
    stop: () => clearTimeout(timer),
  };
}
