/**
 * Ids are branded strings with a readable prefix that sort by time. Ids are the only keys; handles and titles are
 * labels.
 */

export type Id<Prefix extends string> = string & { readonly __id: Prefix };

export type SessionId = Id<"ses">;
export type MessageId = Id<"msg">;
export type TurnId = Id<"trn">;
export type AskId = Id<"ask">;
export type TaskId = Id<"tsk">;
export type RunId = Id<"run">;
export type FiringId = Id<"fir">;
export type BroadcastId = Id<"brd">;
export type GroupId = Id<"grp">;
export type LandingId = Id<"lnd">;
export type ReceiptId = Id<"rcp">;

export type IdPrefix = "ses" | "msg" | "trn" | "ask" | "tsk" | "run" | "fir" | "brd" | "grp" | "lnd" | "rcp";

/** Crockford's base 32, lower case: no i, l, o, u. */
const alphabet = "0123456789abcdefghjkmnpqrstvwxyz";
const timeLength = 10;
const randomLength = 16;
const shape = /^[a-z]{3}_[0-9a-hjkmnp-tv-z]{26}$/;

/**
 * Creates an id that sorts by time: a prefix, ten characters of time, then eighty random bits. Send a message, run or
 * firing with your own id to make the request safe to repeat.
 *
 * @param now - milliseconds since 1970
 * @example
 * ```ts
 * import { connect, newId } from "aegis/client";
 *
 * const client = await connect();
 * const id = newId("msg", Date.now());
 * // Sending the same id twice adds one message; the second receipt says `duplicate: true`.
 * await client.call("sendMessage", { path: { session: "lucid-knuth" }, body: { id, text: "hello" } });
 * ```
 */
export function newId<P extends IdPrefix>(prefix: P, now: number): Id<P> {
  const random = crypto.getRandomValues(new Uint8Array(randomLength));
  let text = "";
  for (const byte of random) text += alphabet[byte & 31];
  return `${prefix}_${encodeTime(now)}${text}` as Id<P>;
}

/** A text that sorts before every id of this time, and after every earlier one. */
export function earliestId(prefix: IdPrefix, ms: number): string {
  return `${prefix}_${encodeTime(Math.max(0, ms))}`;
}

/**
 * Tells whether a text is an id with this prefix, and narrows its type.
 *
 * @example
 * ```ts
 * import { isId } from "aegis/schema";
 *
 * isId("ses", "ses_01jd3q5w7k2m4n6p8r0s2t4v6x"); // true
 * isId("ses", "lucid-knuth"); // false: that is a handle
 * ```
 */
export function isId<P extends IdPrefix>(prefix: P, value: string): value is Id<P> {
  return value.startsWith(`${prefix}_`) && shape.test(value);
}

function encodeTime(ms: number): string {
  let rest = Math.floor(ms);
  let text = "";
  for (let i = 0; i < timeLength; i++) {
    text = alphabet[rest % 32] + text;
    rest = Math.floor(rest / 32);
  }
  return text;
}
