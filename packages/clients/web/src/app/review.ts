/** Reviews that a person writes, by session. This browser keeps them until they are sent, over reloads and restarts. */

import { type MessageId, newId, type SessionId } from "@aegis/contract/ids.ts";
import { type Signal, signal } from "@preact/signals";
import { drafts, emptyReview, type Review } from "../model/review.ts";
import { client } from "./client.ts";

const prefix = "aegis.review.";
const reviews = new Map<string, Signal<Review>>();

export function reviewOf(session: SessionId): Signal<Review> {
  const known = reviews.get(prefix + session);
  if (known !== undefined) return known;
  const fresh = signal(read(localStorage.getItem(prefix + session)));
  reviews.set(prefix + session, fresh);
  return fresh;
}

// Another tab of this browser shows the same drafts.
addEventListener("storage", ({ key, newValue }) => {
  const known = key === null ? undefined : reviews.get(key);
  if (known !== undefined) known.value = read(newValue);
});

export function changeReview(session: SessionId, change: (review: Review) => Review): void {
  const review = reviewOf(session);
  review.value = change(review.peek());
  const { comments, note, sending } = review.peek();
  if (comments.length === 0 && note === "" && sending === null) localStorage.removeItem(prefix + session);
  else localStorage.setItem(prefix + session, JSON.stringify(review.peek()));
}

/** Sends one message, and marks the drafts as sent. A message that is sent twice arrives once. */
export async function sendReview(session: SessionId, text: string): Promise<void> {
  const before = reviewOf(session).peek();
  const id: MessageId = before.sending?.text === text ? before.sending.id : newId("msg", Date.now());
  changeReview(session, (review) => ({ ...review, sending: { id, text } }));
  await client.call("sendMessage", { path: { session }, body: { id, text } });
  const included = new Set(drafts(before).map((comment) => comment.id));
  changeReview(session, ({ comments }) => ({
    comments: comments.map((comment) => (included.has(comment.id) ? { ...comment, sent: id } : comment)),
    note: "",
    sending: null,
  }));
}

function read(text: string | null): Review {
  if (text === null) return emptyReview;
  try {
    const { comments, note, sending } = JSON.parse(text) as Review;
    return { comments: Array.isArray(comments) ? comments : [], note: String(note ?? ""), sending: sending ?? null };
  } catch {
    return emptyReview;
  }
}
