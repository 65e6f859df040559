/** Prepares live text for notifications, and puts received text in its place among the events. */
import type { Event, LiveDelta } from "@aegis/contract/event.ts";

/** Text with the number of the last event before it. */
export type PlacedText = LiveDelta & { after: number };

/** Below the limit of a notification after encryption, even if each character takes six bytes. */
const longestPiece = 800;
const mostHeld = 2_000;
const mostRemembered = 2_000;

/** Text that continues the text before it becomes one delta. */
export function joined(deltas: readonly PlacedText[]): PlacedText[] {
  const result: PlacedText[] = [];
  for (const delta of deltas) {
    const last = result.findLast(({ session }) => session === delta.session);
    if (last !== undefined && continues(last, delta)) last.text += delta.text;
    else result.push({ ...delta });
  }
  return result;
}

/** Groups of deltas that fit into one notification each. */
export function pieces(deltas: readonly PlacedText[]): PlacedText[][] {
  const short = deltas.flatMap(cut);
  const groups: PlacedText[][] = [];
  let size = Number.POSITIVE_INFINITY;
  for (const delta of short) {
    const length = delta.text.length + overhead;
    if (size + length > longestPiece) {
      groups.push([]);
      size = 0;
    }
    groups.at(-1)?.push(delta);
    size += length;
  }
  return groups;
}

/** The ids of a delta, in characters that take one byte. */
const overhead = 40;

function cut(delta: PlacedText): PlacedText[] {
  const longest = longestPiece - overhead;
  if (delta.text.length <= longest) return [delta];
  const parts: PlacedText[] = [];
  for (let at = 0; at < delta.text.length; at += longest)
    parts.push({ ...delta, offset: delta.offset + at, text: delta.text.slice(at, at + longest) });
  return parts;
}

function continues(last: LiveDelta, next: LiveDelta): boolean {
  const isSame = last.turn === next.turn && last.message === next.message && last.type === next.type;
  return isSame && last.offset + last.text.length === next.offset;
}

/**
 * Delivers text after the events that were stored before it, and never after the event with the whole text: both travel
 * on different ways.
 */
export class LateText {
  readonly #deliver: (delta: LiveDelta) => void;
  #seq = 0;
  #held: PlacedText[] = [];
  /** The number of the event with the whole text. */
  readonly #complete = new Map<string, number>();

  constructor(deliver: (delta: LiveDelta) => void) {
    this.#deliver = deliver;
  }

  take(deltas: readonly PlacedText[]): void {
    for (const delta of deltas) {
      if (delta.after <= this.#seq) this.#show(delta);
      else if (this.#held.length < mostHeld) this.#held.push(delta);
    }
  }

  /** All events up to this number have been published. */
  reached(seq: number, events: readonly Event[]): void {
    for (const event of events) this.#note(event);
    this.#seq = seq;
    const due = this.#held.filter(({ after }) => after <= seq);
    if (due.length === 0) return;
    this.#held = this.#held.filter(({ after }) => after > seq);
    for (const delta of due) this.#show(delta);
  }

  #show({ after, ...delta }: PlacedText): void {
    const complete = this.#complete.get(`${delta.turn}/${delta.message}`) ?? this.#complete.get(delta.turn) ?? 0;
    if (complete <= after) this.#deliver(delta);
  }

  #note({ seq, type, data }: Event): void {
    if (type === "turn.text" || type === "turn.thinking") this.#complete.set(`${data.turn}/${data.message}`, seq);
    else if (type === "turn.ended") this.#complete.set(data.turn, seq);
    else return;
    if (this.#complete.size <= mostRemembered) return;
    const [oldest] = this.#complete.keys();
    if (oldest !== undefined) this.#complete.delete(oldest);
  }
}
