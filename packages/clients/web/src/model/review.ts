/** A review of changes: comments on lines, and the one message that they become. Pure. */
import type { Changes } from "@aegis/contract/changes.ts";
import type { MessageId } from "@aegis/contract/ids.ts";
import type { Message } from "@aegis/contract/message.ts";
import type { CodeLine, DiffLine } from "./diff-lines.ts";
import { plural } from "./format.ts";

export type Side = "before" | "after";
export type Comment = {
  id: string;
  path: string;
  side: Side;
  line: number;
  /** The text of the line, so that the comment is found again, or known to be outdated, after the file has changed. */
  code: string;
  body: string;
  /** The message that contains it; null for a draft. */
  sent: MessageId | null;
};

export type Review = {
  comments: readonly Comment[];
  note: string;
  /** What was sent last, until it is known to have arrived: sending it again uses the same id. */
  sending: { id: MessageId; text: string } | null;
};
export const emptyReview: Review = { comments: [], note: "", sending: null };

export type Anchor = Pick<Comment, "side" | "line" | "code">;

/** Where a comment on a line is attached: a removed line exists only in the old file. */
export function anchorOf(line: CodeLine): Anchor {
  if (line.kind === "del") return { side: "before", line: line.before ?? 0, code: line.text };
  return { side: "after", line: line.after ?? 0, code: line.text };
}

export function anchorKey({ side, line }: Pick<Comment, "side" | "line">): string {
  return `${side} ${line}`;
}

/**
 * Comments by the line at which they are shown. A comment whose line has moved follows it; one whose line is gone is
 * outdated, and is kept.
 */
export function placed(
  comments: readonly Comment[],
  lines: readonly DiffLine[],
): { at: Map<string, Comment[]>; outdated: Comment[] } {
  const anchors = lines.flatMap((line) => (line.kind === "hunk" ? [] : [anchorOf(line)]));
  const at = new Map<string, Comment[]>();
  const outdated: Comment[] = [];
  for (const comment of comments) {
    const same = anchors.filter(({ side, code }) => side === comment.side && code === comment.code);
    const near = same.reduce<Anchor | null>(
      (best, one) =>
        best === null || Math.abs(one.line - comment.line) < Math.abs(best.line - comment.line) ? one : best,
      null,
    );
    if (near === null) outdated.push(comment);
    else at.set(anchorKey(near), [...(at.get(anchorKey(near)) ?? []), comment]);
  }
  return { at, outdated };
}

export function drafts({ comments }: Review): Comment[] {
  return comments.filter(({ sent }) => sent === null);
}

const longestQuote = 300;

/** All drafts and the note in one text. */
export function sendBackText(review: Review): string {
  const list = drafts(review);
  const head = list.length === 0 ? [] : ["I have reviewed your changes. Please address these comments:"];
  return [...head, ...commentTexts(list), review.note.trim()].filter((part) => part !== "").join("\n\n");
}

export function approvalText(
  review: Review,
  changes: Pick<Changes, "files" | "omitted" | "added" | "deleted" | "after">,
) {
  const files = plural(changes.files.length + changes.omitted, "file");
  const head = `I approve your changes: ${files}, +${changes.added} -${changes.deleted}.\nTree ${changes.after}`;
  return [head, ...commentTexts(drafts(review)), review.note.trim()].filter((part) => part !== "").join("\n\n");
}

function commentTexts(comments: readonly Comment[]): string[] {
  return comments.map(({ path, line, side, code, body }, index) => {
    const place = `${index + 1}. ${path}, line ${line}${side === "before" ? " (removed)" : ""}:`;
    const quote = code.length > longestQuote ? `${code.slice(0, longestQuote)}…` : code;
    return `${place}\n> ${quote}\n${body.trim()}`;
  });
}

export type Approval = { tree: string; at: number };

/** The last approval that a person sent. A message of an agent that looks like one is none. */
export function approvalOf(messages: readonly Message[]): Approval | null {
  for (const message of messages.toReversed()) {
    if (message.sender.kind !== "human" || message.status === "cancelled") continue;
    const text = message.sent ?? message.body;
    const tree = /^I approve your changes: [^\n]*\nTree ([0-9a-f]{40,64})(?:\n|$)/.exec(text)?.[1];
    if (tree !== undefined) return { tree, at: message.admitted_at };
  }
  return null;
}

const generated = /(?:^|\/)(?:[^/]*[-.]lock(?:\.(?:json|yaml|yml))?|[^/]*\.lockb?|[^/]*\.min\.(?:js|css)|[^/]*\.map)$/;

/** Files that are rarely read: their diff is shown on request. */
export function isGenerated(path: string): boolean {
  return generated.test(path);
}
