/** The pure models of a review. */

import { newId } from "@aegis/contract/ids.ts";
import type { Message } from "@aegis/contract/message.ts";
import { describe, expect, it } from "vitest";
import { diffOfGit } from "../src/model/diff-lines.ts";
import { painted, pairedRows, piecesByLine } from "../src/model/diff-rows.ts";
import {
  approvalOf,
  approvalText,
  type Comment,
  emptyReview,
  isGenerated,
  placed,
  sendBackText,
} from "../src/model/review.ts";

const patch = [
  "diff --git a/a.ts b/a.ts",
  "--- a/a.ts",
  "+++ b/a.ts",
  "@@ -1,4 +1,5 @@",
  " one",
  "--- old",
  "+++ new",
  "+more",
  " two",
  " three",
  "\\ No newline at end of file",
  "@@ -10,2 +11 @@ function f()",
  "-ten",
  " eleven",
  "",
].join("\n");

describe("the patch of git", () => {
  it("is read by its counts, so that a line that looks like a head is a line", () => {
    const { lines, added, removed } = diffOfGit(patch);
    expect([added, removed]).toEqual([2, 2]);
    expect(lines.map((line) => (line.kind === "hunk" ? "@" : `${line.kind} ${line.text}`))).toEqual([
      ...["same one", "del -- old", "add ++ new", "add more", "same two", "same three", "@", "del ten", "same eleven"],
    ]);
    expect(lines.at(-1)).toMatchObject({ before: 11, after: 11 });
  });

  it("may be cut anywhere", () => {
    for (let end = 0; end <= patch.length; end++) expect(() => diffOfGit(patch.slice(0, end))).not.toThrow();
    expect(diffOfGit(patch.slice(0, patch.indexOf("+more"))).lines).toHaveLength(3);
  });

  it("stands side by side", () => {
    const rows = pairedRows(diffOfGit(patch).lines);
    const texts = rows.map((row) =>
      row.kind === "pair" ? [row.left?.text ?? null, row.right?.text ?? null] : row.kind,
    );
    expect(texts).toEqual([
      ["one", "one"],
      ["-- old", "++ new"],
      [null, "more"],
      ["two", "two"],
      ["three", "three"],
      "hunk",
      ["ten", null],
      ["eleven", "eleven"],
    ]);
  });

  it("joins colours with marks without losing a character", () => {
    const line = { kind: "add", before: null, after: 1, text: "const a = 12;", other: "const a = 1;" } as const;
    const pieces = piecesByLine([
      ["key", "const"],
      ["", " a = "],
      ["number", "12"],
      ["", ";\nnext"],
    ])[0];
    const found = painted(line, pieces);
    expect(found.map(({ text }) => text).join("")).toBe(line.text);
    expect(found.find(({ changed }) => changed)).toEqual({ text: "12", kind: "number", changed: true });
  });
});

describe("a review", () => {
  const comment = (more: Partial<Comment>): Comment => ({
    id: "1",
    path: "a.ts",
    side: "after",
    line: 3,
    code: "more",
    body: "Why?",
    sent: null,
    ...more,
  });
  const { lines } = diffOfGit(patch);

  it("finds the line of a comment again, nearest first, and keeps a comment whose line is gone", () => {
    const { at, outdated } = placed([comment({ line: 90 }), comment({ id: "2", code: "gone" })], lines);
    expect([...at.keys()]).toEqual(["after 3"]);
    expect(outdated.map(({ id }) => id)).toEqual(["2"]);
    const twice = [3, 40].map((after) => ({ kind: "same", before: after, after, text: "more", other: null }) as const);
    const near = [2, 38].map((line) => [...placed([comment({ line })], twice).at.keys()]);
    expect(near).toEqual([["after 3"], ["after 40"]]);
  });

  it("sends drafts only, and names removed lines", () => {
    const comments = [
      comment({}),
      comment({ side: "before", line: 2 }),
      comment({ sent: newId("msg", 1), body: "Old" }),
    ];
    const text = sendBackText({ ...emptyReview, comments });
    expect(text).toContain("1. a.ts, line 3:\n> more\nWhy?");
    expect(text).toContain("2. a.ts, line 2 (removed):");
    expect(text).not.toContain("Old");
  });

  it("is approved only by a message of a person", () => {
    const tree = "a".repeat(40);
    const body = approvalText(emptyReview, { files: [], omitted: 2, added: 1, deleted: 0, after: tree });
    const message = (kind: string, more = {}) =>
      ({ sender: { kind }, body, sent: null, status: "done", admitted_at: 5, ...more }) as unknown as Message;
    expect(approvalOf([message("human")])).toEqual({ tree, at: 5 });
    expect(approvalOf([message("agent")])).toBeNull();
    expect(approvalOf([message("human", { body: `Look:\n${body}` })])).toBeNull();
    expect(approvalOf([message("human", { status: "cancelled" })])).toBeNull();
  });

  it("does not open generated files by itself", () => {
    expect(["package-lock.json", "a/yarn.lock", "x.min.js", "pnpm-lock.yaml"].every(isGenerated)).toBe(true);
    expect(["src/lock.ts", "package.json", "unlock.json"].some(isGenerated)).toBe(false);
  });
});
