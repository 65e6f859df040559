/** Codes with which a person proves to the daemon that an account of a service is theirs. */
import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import type { Clock } from "@aegis/lib/clock.ts";

/** 40 random bits in characters that are easy to read and to type. */
const alphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
const length = 8;
const validMs = 10 * 60_000;
const mostTries = 5;

/** One code at a time, for one person, with few tries. A restart of the daemon forgets it. */
export class PairingCodes {
  readonly #clock: Clock;
  #code: { text: string; until: number; tries: number } | null = null;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  create(): { code: string; expires_at: number } {
    const text = [...randomBytes(length)].map((byte) => alphabet[byte % alphabet.length]).join("");
    const until = this.#clock.now() + validMs;
    this.#code = { text, until, tries: 0 };
    return { code: text, expires_at: until };
  }

  /** True if the code is right. A right code is used up; too many wrong ones end it. */
  take(given: string): boolean {
    const code = this.#code;
    if (code === null) return false;
    code.tries += 1;
    const isRight = this.#clock.now() < code.until && isEqual(code.text, given.trim().toUpperCase());
    if (isRight || code.tries >= mostTries || this.#clock.now() >= code.until) this.#code = null;
    return isRight;
  }
}

function isEqual(a: string, b: string): boolean {
  const digest = (text: string) => createHash("sha256").update(text).digest();
  return timingSafeEqual(digest(a), digest(b));
}
