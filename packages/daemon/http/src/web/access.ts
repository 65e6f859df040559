/**
 * Which browsers may use the web app. A person asks for a one-time code with the daemon's token; a page exchanges the
 * code for a cookie and a key. Every later request needs both: a program on another port of this host receives the
 * cookie but cannot read the key, and a form can send the cookie but no header.
 */
import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import type { ServerResponse } from "node:http";
import type { Browser } from "@aegis/contract/api-web.ts";
import { AegisError } from "@aegis/contract/errors.ts";
import type { Clock } from "@aegis/lib/clock.ts";

/** A browser as it is stored: hashes only. */
export type BrowserRecord = Browser & { cookie: string; key: string };

/** Keeps the records across restarts of the daemon. */
export type BrowserStore = {
  /** Called once, when the first request needs it. */
  read(): readonly BrowserRecord[];
  write(records: readonly BrowserRecord[]): Promise<void>;
};

export type AccessOptions = { clock: Pick<Clock, "now">; store: BrowserStore };

const codeMs = 60_000;
const openCodes = 5;
/** How long a cookie is valid without use. */
export const cookieMs = 30 * 24 * 3_600_000;
/** The time of the last use is written at most this often. */
const touchMs = 10 * 60_000;
const userAgentLength = 200;

export class WebAccess {
  readonly #clock: Pick<Clock, "now">;
  readonly #store: BrowserStore;
  #records: BrowserRecord[] | null = null;
  /** Hashes of the open codes, oldest first, and when each expires. */
  readonly #codes = new Map<string, number>();
  readonly #open = new Map<string, Set<ServerResponse>>();
  #writing: Promise<void> = Promise.resolve();

  constructor({ clock, store }: AccessOptions) {
    this.#clock = clock;
    this.#store = store;
  }

  newCode(): { code: string; expires_at: number } {
    this.#dropExpired();
    for (const oldest of this.#codes.keys()) {
      if (this.#codes.size < openCodes) break;
      this.#codes.delete(oldest);
    }
    const code = secret();
    const expires_at = this.#clock.now() + codeMs;
    this.#codes.set(hash(code), expires_at);
    return { code, expires_at };
  }

  /**
   * Exchanges a code. Wrong codes are not counted: a code has 128 bits, and a limit would let any program on this machine
   * lock the person out. The code is gone before the first await, so that two requests cannot both use it.
   */
  async login(code: string, userAgent: string): Promise<{ id: string; cookie: string; key: string }> {
    const now = this.#clock.now();
    this.#dropExpired();
    if (!this.#codes.delete(hash(code)))
      throw new AegisError("unauthorized", "the code is wrong, expired or used already", {
        hint: "run `aegis web` again: a code is valid for 60 seconds and for one browser",
      });
    const [id, cookie, key] = [`web_${randomBytes(6).toString("hex")}`, secret(), secret()];
    const browser = { id, user_agent: userAgent.slice(0, userAgentLength), created_at: now, last_used_at: now };
    this.#set([...this.#all(), { ...browser, cookie: hash(cookie), key: hash(key) }]);
    // The row is durable before the browser learns its cookie.
    await this.#writing;
    return { id, cookie, key };
  }

  /** The browser with this cookie and this key; throws `unauthorized` if there is none. */
  require(cookie: string, key: string | undefined): string {
    const now = this.#clock.now();
    const given = hash(cookie);
    const found = this.#all().find((one) => same(one.cookie, given) && now - one.last_used_at < cookieMs);
    if (found === undefined)
      throw new AegisError("unauthorized", "this browser has no access, or its access was revoked", {
        hint: "run `aegis web` in the project's folder and open the link",
      });
    if (key === undefined || !same(found.key, hash(key)))
      throw new AegisError("unauthorized", "the request lacks the key of its page", {
        hint: "send the header x-aegis-web; or run `aegis web` and open the link",
      });
    const stale = now - found.last_used_at > touchMs;
    found.last_used_at = now;
    if (stale) this.#set(this.#all());
    return found.id;
  }

  list(): Browser[] {
    return this.#all().map(shown).reverse();
  }

  /** Ends open requests too, so that nothing more reaches the browser. */
  async revoke(id: string): Promise<Browser> {
    const found = this.#all().find((one) => one.id === id);
    if (found === undefined)
      throw new AegisError("not_found", `no browser ${JSON.stringify(id)} has access`, {
        hint: "aegis web --list shows them",
      });
    this.#set(this.#all().filter((one) => one !== found));
    for (const response of this.#open.get(id) ?? []) response.destroy();
    await this.#writing;
    return shown(found);
  }

  /** Remembers a response while it is open. */
  track(id: string, response: ServerResponse): void {
    const open = this.#open.get(id) ?? new Set();
    this.#open.set(id, open.add(response));
    response.once("close", () => {
      open.delete(response);
      if (open.size === 0 && this.#open.get(id) === open) this.#open.delete(id);
    });
  }

  #all(): BrowserRecord[] {
    this.#records ??= [...this.#store.read()];
    return this.#records;
  }

  #set(records: BrowserRecord[]): void {
    const now = this.#clock.now();
    const kept = records.filter((one) => now - one.last_used_at < cookieMs);
    this.#records = kept;
    const write = () => this.#store.write(kept);
    this.#writing = this.#writing.then(write, write);
    // Callers that need the outcome await it; a failed write of a time of use is no error of the request.
    this.#writing.catch(() => {});
  }

  #dropExpired(): void {
    const now = this.#clock.now();
    for (const [code, expires] of this.#codes) if (expires <= now) this.#codes.delete(code);
  }
}

function shown({ id, user_agent, created_at, last_used_at }: BrowserRecord): Browser {
  return { id, user_agent, created_at, last_used_at };
}

function secret(): string {
  return randomBytes(16).toString("base64url");
}

function hash(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

function same(a: string, b: string): boolean {
  return a.length === b.length && timingSafeEqual(Buffer.from(a), Buffer.from(b));
}
