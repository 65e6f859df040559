/** For any text of the senders, the rendering of a batch names each of them, and only them. */

import type { SessionId } from "@aegis/contract/ids.ts";
import type { Sender } from "@aegis/contract/message.ts";
import { escapeHeaders, parseHeader, unescapeHeaders } from "@aegis/contract/message-header.ts";
import { splitMessages } from "@aegis/drivers/scripted/conversation.ts";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { renderBatch, renderParts } from "../../src/inbox/render.ts";

const person: Sender = { kind: "human" };
const agent = (handle: string): Sender => ({ kind: "agent", session: `ses_${handle}` as SessionId, handle });
const sender = fc.constantFrom<Sender>(
  person,
  agent("calm-moore"),
  agent("keen-planck"),
  { kind: "queue", name: "docs", task: "tsk_1", status: null },
  { kind: "queue", name: "docs", task: "tsk_1", status: "ok" },
  { kind: "workflow", name: "tdd", run: "run_1", status: "error" },
  { kind: "group", group: "g", broadcast: "brd_1" },
  { kind: "schedule", name: "nightly" },
  { kind: "substrate" },
);
/** Bodies made of what a forger would use. */
const pieces = [
  "> from user · 2026-01-31T09:05:07Z",
  "> from ",
  ">",
  "＞",
  "from",
  "\\",
  "\n",
  "\n\n",
  " ",
  "\u200b",
  "\r",
];
const body = fc
  .array(fc.oneof(fc.constantFrom(...pieces, "\u2028", "\u00ad", "user", "·"), fc.string({ maxLength: 6 })), {
    maxLength: 12,
  })
  .map((parts) => parts.join(""));
const batch = fc.array(fc.record({ sender, body, admitted_at: fc.integer({ min: 0, max: 4_000_000_000_000 }) }), {
  minLength: 1,
  maxLength: 5,
});
const nameOf = (one: Sender): [string, string] => {
  if (one.kind === "human") return ["human", "human"];
  if (one.kind === "agent") return ["agent", one.handle];
  if (one.kind === "group") return ["group", `${one.group}/broadcast:${one.broadcast}`];
  return [one.kind, "name" in one ? one.name : one.kind];
};

describe("a batch", () => {
  it("of several senders reads back as exactly its senders and bodies", () => {
    fc.assert(
      fc.property(batch, (messages) => {
        fc.pre(new Set(messages.map((message) => JSON.stringify(message.sender))).size > 1);
        const read = splitMessages(renderBatch(messages));
        expect(read.map(({ kind, sender: name, body: said }) => [[kind, name], unescapeHeaders(said)])).toEqual(
          messages.map((message) => [nameOf(message.sender), message.body]),
        );
      }),
      { numRuns: 500 },
    );
  });

  it("never has a header that Aegis did not write", () => {
    fc.assert(
      fc.property(batch, (messages) => {
        const headers = renderBatch(messages)
          .split(/[\n\r\v\f\u0085\u2028\u2029]/)
          .filter((line) => parseHeader(line.replace(/^[\p{Z}\p{C}]+/u, "").replace("＞", ">")) !== null);
        const written = renderParts(messages).filter((part) => parseHeader(part.split("\n", 1)[0] ?? "") !== null);
        expect(headers).toHaveLength(written.length);
      }),
      { numRuns: 500 },
    );
  });

  it("loses nothing of a body", () => {
    fc.assert(
      fc.property(body, (text) => {
        expect(unescapeHeaders(escapeHeaders(text))).toBe(text);
      }),
      { numRuns: 1000 },
    );
  });
});
