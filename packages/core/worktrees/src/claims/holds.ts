/**
 * Which session holds which file. A request gets all of its files or none, in order of arrival; a request that could
 * never be granted, because sessions would wait for each other in a circle, is refused immediately. Everything is in
 * memory: a hold must not outlive the daemon that watches over it.
 */
import type { SessionId } from "@aegis/contract/ids.ts";
import type { Clock } from "@aegis/lib/clock.ts";

export type HoldRequest = {
  session: SessionId;
  /** Names what holds the files: a tool call, or the session itself. A session may hold a file under several names. */
  key: string;
  paths: readonly string[];
  /** How long the hold lasts if nothing ends it. */
  leaseMs: number;
  waitMs: number;
  signal: AbortSignal;
};

export type Hold = { path: string; session: SessionId; key: string; since: number; until: number };

export type HoldRefusal = {
  /** `circle`: the holder waits, directly or not, for a file that this session holds. */
  why: "held" | "circle" | "limit";
  path: string;
  holder: SessionId;
};

type Waiter = HoldRequest & { granted: PromiseWithResolvers<void>; isGranted: boolean };

/** Limits what one session can hold and how many of its calls can wait. */
export const mostHeld = 256;
const mostWaiting = 32;

export class Holds {
  readonly #clock: Clock;
  readonly #held = new Map<string, Map<string, Hold>>();
  /** In order of arrival. */
  #waiting: Waiter[] = [];

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Null if the session now holds all of the files. Throws the signal's reason when it aborts. */
  async take(request: HoldRequest): Promise<HoldRefusal | null> {
    request.signal.throwIfAborted();
    this.#expire();
    const { session, paths } = request;
    const [first = ""] = paths;
    const mine = this.of(session);
    const isTooMuch = new Set([...mine.map(({ path }) => path), ...paths]).size > mostHeld;
    if (isTooMuch || this.#waiting.filter((one) => one.session === session).length >= mostWaiting)
      return { why: "limit", path: first, holder: session };
    const waiter: Waiter = { ...request, granted: Promise.withResolvers(), isGranted: false };
    this.#waiting.push(waiter);
    const circle = this.#circle(waiter);
    if (circle !== null) {
      this.#leave(waiter);
      return circle;
    }
    this.#grant();
    try {
      return (await this.#granted(waiter)) ? null : this.#refusal(waiter);
    } finally {
      this.#leave(waiter);
    }
  }

  /** Ends the holds of one key, or of all keys of the session; of the given files, or of all. */
  release(session: SessionId, { key, paths }: { key?: string; paths?: readonly string[] } = {}): Hold[] {
    const ended = this.of(session).filter(
      (hold) => (key === undefined || hold.key === key) && (paths === undefined || paths.includes(hold.path)),
    );
    for (const hold of ended) this.#drop(hold);
    this.#grant();
    return ended;
  }

  of(session: SessionId): Hold[] {
    return this.list().filter((hold) => hold.session === session);
  }

  list(): Hold[] {
    this.#expire();
    return [...this.#held.values()].flatMap((holds) => [...holds.values()]);
  }

  /** The sessions that wait for the file, in order. */
  waitingFor(path: string): SessionId[] {
    return [...new Set(this.#waiting.filter(({ paths }) => paths.includes(path)).map(({ session }) => session))];
  }

  /** Waits until the request is granted or its time is over. A lease that ends meanwhile can make room. */
  async #granted(waiter: Waiter): Promise<boolean> {
    const deadline = this.#clock.now() + waiter.waitMs;
    while (!waiter.isGranted) {
      const now = this.#clock.now();
      if (now >= deadline) return false;
      const next = Math.min(deadline, ...this.list().map(({ until }) => until));
      const over = new AbortController();
      const signal = AbortSignal.any([over.signal, waiter.signal]);
      const slept = this.#clock.sleep(Math.max(1, next - now), signal).catch(() => {});
      await Promise.race([waiter.granted.promise, slept]);
      over.abort();
      if (!waiter.isGranted) waiter.signal.throwIfAborted();
      this.#expire();
      this.#grant();
    }
    return true;
  }

  #grant(): void {
    for (const waiter of [...this.#waiting]) {
      if (waiter.isGranted || this.#blockers(waiter).size > 0) continue;
      const { session, key, paths, leaseMs } = waiter;
      const now = this.#clock.now();
      for (const path of paths) {
        const holds = this.#held.get(path) ?? new Map<string, Hold>();
        const since = holds.get(key)?.since ?? now;
        this.#held.set(path, holds.set(key, { path, session, key, since, until: now + leaseMs }));
      }
      waiter.isGranted = true;
      waiter.granted.resolve();
      this.#waiting = this.#waiting.filter((one) => one !== waiter);
    }
  }

  /** The sessions that must go first, each with a file: holders, and earlier requests for the same file. */
  #blockers({ session, paths, ...waiter }: Pick<Waiter, "session" | "paths" | "granted">): Map<SessionId, string> {
    const found = new Map<SessionId, string>();
    for (const path of paths) {
      const holder = this.#holder(path);
      if (holder === session) continue;
      if (holder !== null) found.set(holder, path);
      for (const earlier of this.#waiting) {
        if (earlier.granted === waiter.granted) break;
        if (earlier.session !== session && earlier.paths.includes(path)) found.set(earlier.session, path);
      }
    }
    return found;
  }

  #circle(waiter: Waiter): HoldRefusal | null {
    for (const [holder, path] of this.#blockers(waiter)) {
      const seen = new Set<SessionId>();
      const next = [holder];
      for (let one = next.pop(); one !== undefined; one = next.pop()) {
        if (one === waiter.session) return { why: "circle", path, holder };
        if (seen.has(one)) continue;
        seen.add(one);
        for (const other of this.#waiting)
          if (other !== waiter && other.session === one) next.push(...this.#blockers(other).keys());
      }
    }
    return null;
  }

  #refusal(waiter: Waiter): HoldRefusal {
    const [[holder, path] = [waiter.session, waiter.paths[0] ?? ""]] = this.#blockers(waiter);
    return { why: "held", path, holder };
  }

  #holder(path: string): SessionId | null {
    for (const { session } of this.#held.get(path)?.values() ?? []) return session;
    return null;
  }

  #leave(waiter: Waiter): void {
    this.#waiting = this.#waiting.filter((one) => one !== waiter);
    this.#grant();
  }

  #expire(): void {
    const now = this.#clock.now();
    for (const holds of this.#held.values()) for (const hold of holds.values()) if (hold.until <= now) this.#drop(hold);
  }

  #drop({ path, key }: Hold): void {
    const holds = this.#held.get(path);
    holds?.delete(key);
    if (holds?.size === 0) this.#held.delete(path);
  }
}
