import type { Client } from "@aegis/client/client.ts";
import type { Ask } from "@aegis/contract/ask.ts";
import type { Event } from "@aegis/contract/event.ts";
import { newId } from "@aegis/contract/ids.ts";
import { anAsk } from "@aegis/test/helpers/asks.ts";
import { expect, it } from "vitest";
import { ChatAsks } from "../src/chat/chat-asks.ts";
import { SessionNames } from "../src/format/session-names.ts";
import { createStyle } from "../src/format/style.ts";

const mine = newId("ses", 1);
const other = newId("ses", 2);

function chatAsks(rows: number | null = null, rows_: Ask[] = []) {
  const lines: string[] = [];
  const answers: { ask: string; body: unknown }[] = [];
  const client = {
    async call(name: string, { path, body }: { path: { ask: string }; body: unknown }) {
      if (name === "getAsk") return { ask: rows_.find(({ id }) => id === path.ask) };
      answers.push({ ask: path.ask, body });
      return { ask: anAsk({ status: "answered" }) };
    },
  } as unknown as Client;
  const out = {
    text: (text: string) => lines.push(text),
    aside: (line: string) => lines.push(line),
  };
  const asks = new ChatAsks({
    client,
    out,
    style: createStyle(false),
    width: () => 80,
    names: new SessionNames(),
    rows: rows === null ? null : () => rows,
  });
  return { asks, lines, answers };
}

const touch = (more: Partial<Ask> = {}) => anAsk({ session: mine, detail: { command: "touch a" }, ...more });

it("answers the one ask of its session with the digest of what it showed", async () => {
  const { asks, answers, lines } = chatAsks();
  const ask = touch();
  asks.opened(anAsk({ session: other, detail: { command: "rm -rf /" } }), mine);
  asks.opened(ask, mine);
  await asks.answer("allow", mine);
  expect(answers).toEqual([{ ask: ask.id, body: { choice: "allow", text: "", digest: ask.digest, via: "chat" } }]);
  expect(lines.join("\n")).toContain(`digest ${ask.digest}`);
});

it("refuses to choose between two asks of its session, and answers the one that is named", async () => {
  const { asks, answers } = chatAsks();
  const [first, second] = [touch(), touch({ detail: { command: "rm b" } })];
  asks.opened(first, mine);
  asks.opened(second, mine);
  await expect(asks.answer("allow", mine)).rejects.toThrow(
    new RegExp(`has several open asks:\n  ${first.id.slice(-6)} .*touch a\n  ${second.id.slice(-6)} .*rm b`),
  );
  expect(answers).toEqual([]);
  await asks.answer(`${second.id.slice(-6)} allow`, mine);
  expect(answers).toMatchObject([{ ask: second.id }]);
});

it("never answers what another session asks unless it is named and was shown", async () => {
  const { asks, answers, lines } = chatAsks();
  const ask = anAsk({ session: other, detail: { command: "rm -rf /" } });
  asks.opened(ask, mine);
  expect(lines.join("\n")).toContain("needs you: Bash: rm -rf /");
  await expect(asks.answer("allow", mine)).rejects.toThrow(/this session has no open ask/);
  await expect(asks.answer(`${ask.id} allow`, mine)).rejects.toThrow(/must be shown in full/);
  expect(answers).toEqual([]);
  await asks.answer(`${ask.id} allow`, mine);
  expect(answers).toHaveLength(1);
});

it("lets a person who types allow only what is named, because another ask may open meanwhile", async () => {
  const { asks, answers, lines } = chatAsks(40);
  const [first, second] = [touch(), touch({ detail: { command: "rm b" } })];
  asks.opened(first, mine);
  expect(lines.at(-1)).toContain(`/answer ${first.id.slice(-6)} allow`);
  await expect(asks.answer("allow", mine)).rejects.toThrow(/must be named to be allowed/);
  expect(answers).toEqual([]);
  await asks.answer(`${first.id.slice(-6)} allow`, mine);
  asks.opened(second, mine);
  await asks.answer("deny", mine);
  expect(answers).toMatchObject([{ ask: first.id }, { ask: second.id, body: { choice: "deny" } }]);
});

it("allows a long one only after its last page", async () => {
  const { asks, answers, lines } = chatAsks(20);
  const command = Array.from({ length: 30 }, (_, index) => `echo ${index}`).join("\n");
  const ask = touch({ detail: { command } });
  asks.opened(ask, mine);
  expect(lines.at(-1)).toMatch(/… \d+ more lines: \/ask/);
  expect(lines.join("\n")).not.toContain("echo 29");
  await expect(asks.answer("allow", mine)).rejects.toThrow(/must be shown in full/);
  while (!lines.join("\n").includes("echo 29")) asks.show("", mine);
  await asks.answer(`${ask.id} allow`, mine);
  expect(answers).toHaveLength(1);
});

it("shows the whole ask instead of the redacted event, and says how it ended", async () => {
  const ask = touch({ detail: { command: "echo secret" } });
  const { asks, lines } = chatAsks(null, [ask]);
  const event = (type: string, data: object) => ({ seq: 1, at: 1, session: mine, type, data }) as unknown as Event;
  const opened = event("ask.opened", { ask: { ...ask, detail: { command: "echo ***" } } });
  if (opened.type === "ask.opened") await asks.learn(opened, mine);
  expect(lines.join("\n")).toContain("echo secret");
  const data = { ask: ask.id, status: "expired", answer: null, by: null, reason: "no answer within 5 s" };
  const settled = event("ask.settled", data);
  if (settled.type === "ask.settled") await asks.learn(settled, mine);
  expect(lines.at(-1)).toContain("is over: expired: no answer within 5 s");
  await expect(asks.answer("allow", mine)).rejects.toThrow(/no ask is open/);
});
