/** Follows the daemon's events over any number of broken connections: each event once and in order. */
import { AegisError, isAegisError } from "../contract/errors.ts";
import type { Event, LiveDelta } from "../contract/event.ts";
import type { SessionId } from "../contract/ids.ts";
import type { Client } from "./client.ts";
import { type SseBlock, SseParser } from "./sse-parser.ts";

export type Followed = { kind: "event"; event: Event } | { kind: "delta"; delta: LiveDelta };

export type FollowOptions = {
  /** Events after this number; only new ones when absent. */
  after?: number | undefined;
  session?: SessionId | undefined;
  /** Also text as it is written. What was written while the connection was down is missing, until it comes whole. */
  live?: boolean | undefined;
  signal?: AbortSignal | undefined;
  /** Told before each new attempt, with what ended the last one. */
  onReconnect?: (attempt: number, error: unknown) => void;
  /** Waits between attempts. */
  sleep?: (ms: number, signal?: AbortSignal) => Promise<void>;
  /** The daemon sends a heartbeat every 15 s; a connection silent for longer than this is given up. */
  silenceMs?: number;
};

const firstDelayMs = 50;
const longestDelayMs = 5_000;
/** About a minute and a half without an answer. */
const maxAttempts = 25;

/**
 * Ends when the signal aborts. Throws when the first connection fails, when the daemon refuses, or when it stays away
 * for more attempts than a restart takes.
 */
export async function* followEvents(
  client: Client,
  options: FollowOptions = {},
): AsyncGenerator<Followed, void, undefined> {
  const { signal, sleep = sleepMs } = options;
  const position = { after: options.after };
  let connectedOnce = false;
  let attempt = 0;
  while (!signal?.aborted) {
    const failuresBefore = attempt;
    let ending: unknown = null;
    try {
      for await (const item of followOnce(client, options, position)) {
        connectedOnce = true;
        attempt = 0;
        if (item !== null) yield item;
      }
    } catch (error) {
      if (signal?.aborted) return;
      if (!connectedOnce || !canRetry(error)) throw error;
      ending = error;
      // A daemon that accepts the connection only to fail on it again must not be asked forever.
      if (isAegisError(error)) attempt = failuresBefore;
    }
    if (signal?.aborted) return;
    attempt += 1;
    if (attempt > maxAttempts) {
      throw new AegisError("unavailable", `the daemon at ${client.url} did not come back`, { cause: ending });
    }
    options.onReconnect?.(attempt, ending);
    try {
      await sleep(delayMs(attempt), signal);
    } catch (error) {
      if (signal?.aborted) return;
      throw error;
    }
  }
}

type Position = { after: number | undefined };

/** One connection. Gives null for what only moves the position, so that the caller knows it is connected. */
async function* followOnce(
  client: Client,
  options: FollowOptions,
  position: Position,
): AsyncGenerator<Followed | null, void, undefined> {
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
    const parser = new SseParser();
    // Not every browser can iterate over a stream.
    const reader = response.body?.getReader();
    for (let read = await reader?.read(); read?.value !== undefined; read = await reader?.read()) {
      // The reader's own slowness is not the daemon's silence.
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

function readBlock(block: SseBlock, position: Position): Followed | null {
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

/** A reader that was too slow goes on where it was; a daemon that failed may fail again. */
function dropped(data: string | null): void {
  const { reason, message } = JSON.parse(data ?? "{}") as { reason?: string; message?: string };
  if (reason === "failed") throw new AegisError("unavailable", message ?? "the daemon ended the event stream");
}

/** A refusal will be repeated; a daemon that is away or restarting comes back. */
function canRetry(error: unknown): boolean {
  return !isAegisError(error) || error.status >= 500 || error.code === "too_many" || error.code === "timeout";
}

function delayMs(attempt: number): number {
  const longest = Math.min(longestDelayMs, firstDelayMs * 2 ** (attempt - 1));
  return longest / 2 + (Math.random() * longest) / 2;
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

function sleepMs(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const onAbort = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", onAbort);
      resolve();
    }, ms);
    signal?.addEventListener("abort", onAbort, { once: true });
  });
}
