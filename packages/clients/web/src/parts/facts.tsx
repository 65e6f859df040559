/** Small facts of cards and rows. */

import type { Card } from "@aegis/client/model/board.ts";
import type { ChangeCounts } from "@aegis/contract/changes.ts";
import { now } from "../app/store.ts";
import { age, count, money, plural } from "../model/format.ts";

export type Shape = "working" | "needs" | "idle" | "failed";

const marks: Readonly<Record<Shape, readonly [mark: string, label: string]>> = {
  working: ["●", "working"],
  needs: ["◆", "needs you"],
  idle: ["○", "idle"],
  failed: ["✕", "failed"],
};

/** Shape and colour: neither is the only sign. */
export function StateDot({ shape }: { shape: Shape }) {
  const [mark, label] = marks[shape];
  return (
    <span class={`state ${shape}`} role="img" aria-label={label}>
      {mark}
    </span>
  );
}

export function shapeOf(card: Pick<Card, "state" | "pending" | "last">, asks: number): Shape {
  if (asks > 0) return "needs";
  if (card.state === "error") return "failed";
  if (card.state === "working" || card.pending > 0) return "working";
  return card.last?.reason === "failed" || card.last?.reason === "lost" ? "failed" : "idle";
}

export function Age({ at }: { at: number }) {
  return (
    <time class="dim" dateTime={new Date(at).toISOString()}>
      {age(now() - at)}
    </time>
  );
}

/** How full the model's context is. */
export function Meter({ context }: { context: Card["context"] }) {
  if (context === null) return null;
  if (context.size === null) return <span class="dim">{count(context.used)} context</span>;
  const percent = Math.min(100, Math.round((100 * context.used) / context.size));
  return (
    <span class="meter" title={`context: ${count(context.used)} of ${count(context.size)} tokens`}>
      <meter min={0} max={100} value={percent} aria-label="context used" />
      {percent}%
    </span>
  );
}

export function Cost({ usage }: { usage: Card["usage"] }) {
  if (usage === null) return null;
  const tokens = usage.input + usage.cache_read + usage.cache_write + usage.output;
  const title = `${count(tokens)} tokens in ${usage.turns} turns`;
  if (usage.cost === null) return <span title={title}>{count(tokens)} tok</span>;
  return (
    <span title={title}>
      {usage.cost_unknown > 0 ? "≥ " : ""}
      {money(usage.cost)}
    </span>
  );
}

/** Files and lines that changed; nothing if none did. */
export function Diffstat({ changes }: { changes: Pick<ChangeCounts, "files" | "added" | "deleted"> | null }) {
  if (changes === null || changes.files === 0) return null;
  return (
    <span class="diffstat">
      {plural(changes.files, "file")} <span class="ok">+{changes.added}</span>{" "}
      <span class="err">−{changes.deleted}</span>
    </span>
  );
}

export function Empty({ children }: { children: preact.ComponentChildren }) {
  return <p class="empty">{children}</p>;
}

export function Problem({ text }: { text: string | null }) {
  return text === null ? null : (
    <p class="problem" role="alert">
      {text}
    </p>
  );
}
