import { expect, test } from "vitest";
import { callName } from "../src/call-name.ts";

const turn = (turn_id: string) => ({ "x-codex-turn-metadata": { turn_id, model: "m" } });
const token = "ebbdf0b0-8680-4035-8a84-6431c6d98e1b";

test.each([
  ["Claude Code", { "claudecode/toolUseId": "toolu_1", progressToken: 1 }],
  ["Codex", { callId: "call_1", ...turn("t1") }],
  ["Gemini CLI", { progressToken: token }],
])("a call of %s that is sent twice has one name", (_, meta) => {
  expect(callName(meta)).toBe(callName({ ...meta }));
});

test("calls that differ have different names", () => {
  const names = [
    { "claudecode/toolUseId": "toolu_1" },
    { "claudecode/toolUseId": "toolu_2" },
    { callId: "call_1", ...turn("t1") },
    { callId: "call_1", ...turn("t2") },
    { callId: "call_2", ...turn("t1") },
    { progressToken: token },
  ].map(callName);
  expect(new Set(names).size).toBe(names.length);
});

test.each([
  ["a number that a client counts up", { progressToken: 2 }],
  ["a token that is no more than a number", { progressToken: "2" }],
  ["a call without its turn", { callId: "call_1" }],
  ["nothing", undefined],
  ["an empty name", { "claudecode/toolUseId": "" }],
])("%s is no name: two such calls are two", (_, meta) => {
  expect(callName(meta)).not.toBe(callName(meta));
});
