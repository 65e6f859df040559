/** Events of one session for tests of the models. */
import type { Event } from "@aegis/contract/event.ts";
import { newId } from "@aegis/contract/ids.ts";

export const session = newId("ses", 1);
export const turn = newId("trn", 1);
export const message = newId("msg", 1);
let seq = 0;

/** An event of the session; its time is its number in seconds. */
export function event(type: Event["type"], data: unknown, of = session): Event {
  seq += 1;
  return { seq, at: seq * 1_000, type, session: of, data } as Event;
}

export const aMessage = (id = message, more = {}) => ({
  id,
  session,
  sender: { kind: "human" },
  body: "hi",
  sent: null,
  attachments: [],
  status: "pending",
  chain: id,
  hops: 0,
  admitted_at: 1,
  turn: null,
  ...more,
});
