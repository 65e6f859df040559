/**
 * Ids are branded strings with a readable prefix, sortable by time.
 * Keys everywhere are ids; handles, labels and titles only label.
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

export type IdPrefix = "ses" | "msg" | "trn" | "ask" | "tsk" | "run" | "fir" | "brd" | "grp";

/** Crockford's base 32, lower case: no i, l, o, u. */
const alphabet = "0123456789abcdefghjkmnpqrstvwxyz";
const timeLength = 10;
const randomLength = 16;
const shape = /^[a-z]{3}_[0-9a-hjkmnp-tv-z]{26}$/;

/** A fresh id: ten characters of time, then eighty random bits. */
export function newId<P extends IdPrefix>(prefix: P, now: number): Id<P> {
  const random = crypto.getRandomValues(new Uint8Array(randomLength));
  let text = "";
  for (const byte of random) text += alphabet[byte & 31];
  return `${prefix}_${encodeTime(now)}${text}` as Id<P>;
}

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
