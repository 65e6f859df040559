/** The content of an ask: its digest, and the bounded part that is stored for a person. */
import type { Ask, AskChange } from "@aegis/contract/ask.ts";
import { canonicalJson } from "@aegis/lib/canonical-json.ts";
import { textDigest } from "@aegis/lib/text-digest.ts";

export type Action = Pick<
  Ask,
  "session" | "kind" | "question" | "reason" | "gate" | "tool" | "detail" | "changes" | "cwd" | "options"
>;

/** The request for an ask. */
export type AskRequest = Pick<Ask, "session" | "kind" | "question" | "tool" | "detail" | "options"> &
  Partial<Pick<Ask, "reason" | "gate" | "changes" | "cwd">> & {
    /** Null waits as long as the caller waits. If absent, the configuration decides. */
    timeoutMs?: number | null;
  };

/** In characters of JSON. Longer content is truncated, and the ask says so. */
const mostKept = 256 * 1024;
/** The lengths to which texts are truncated: the first one that brings the whole below the limit is used. */
const longestTexts = [64 * 1024, 8 * 1024, 1024] as const;
/** The detail contains the rest. */
const longestQuestion = 10_000;

/** Covers everything that a person's decision depends on, and the asking agent. */
export function actionDigest(action: Action, agent: string | null): string {
  const { session, kind, question, reason, gate, tool, detail, changes, cwd, options } = action;
  const covered = { session, agent, kind, question, reason, gate, tool, detail, changes, cwd, options };
  return textDigest(canonicalJson(covered));
}

/** Returns the action to store and the number of omitted characters. */
export function bounded(action: Action): { action: Action; omitted: number } {
  const cutter = new Cutter();
  const short = {
    ...action,
    question: cutter.cut(action.question, longestQuestion),
    reason: action.reason === null ? null : cutter.cut(action.reason, longestQuestion),
  };
  const fits = ({ detail, changes }: Pick<Action, "detail" | "changes">) =>
    (JSON.stringify([detail, changes]) ?? "").length <= mostKept;
  if (fits(action)) return { action: short, omitted: cutter.omitted };
  for (const length of longestTexts) {
    const attempt = new Cutter();
    const kept = {
      detail: attempt.deep(action.detail, length),
      changes: action.changes.map((change) => attempt.deep(change, length) as AskChange),
    };
    if (fits(kept)) return { action: { ...short, ...kept }, omitted: cutter.omitted + attempt.omitted };
  }
  // There are very many small texts: store the beginning of the whole as one text.
  const whole = JSON.stringify({ detail: action.detail, changes: action.changes }, null, 2);
  const detail = cutter.cut(whole, mostKept / 4);
  return { action: { ...short, detail, changes: [] }, omitted: cutter.omitted };
}

class Cutter {
  omitted = 0;

  cut(text: string, length: number): string {
    if (text.length <= length) return text;
    const rest = text.length - length;
    this.omitted += rest;
    return `${text.slice(0, length)}… [${rest} more characters are not shown; SHA-256 of the whole text: ${textDigest(text)}]`;
  }

  deep(value: unknown, length: number): unknown {
    if (typeof value === "string") return this.cut(value, length);
    if (Array.isArray(value)) return value.map((entry) => this.deep(entry, length));
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([key, entry]) => [key, this.deep(entry, length)]));
  }
}
