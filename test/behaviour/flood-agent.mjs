#!/usr/bin/env node
// An ACP agent that writes much: "text <megabytes>" says so much in one turn, "drip <megabytes>" the same in pieces of 100
// characters as fast as it can, "tool <megabytes>" has a tool that returns it.
import { createInterface } from "node:readline";

const write = (text) => new Promise((resolve) => process.stdout.write(text, resolve));
const send = (message) => write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
const update = (value) => send({ method: "session/update", params: { sessionId: "only", update: value } });
const line = "The quick brown fox jumps over the lazy dog, again and again.\n";
const piece = line.repeat(Math.ceil(16_384 / line.length)).slice(0, 16_384);
const row = (text) => {
  const update = { sessionUpdate: "agent_message_chunk", content: { type: "text", text } };
  return `${JSON.stringify({ jsonrpc: "2.0", method: "session/update", params: { sessionId: "only", update } })}\n`;
};
const say = (text) => update({ sessionUpdate: "agent_message_chunk", content: { type: "text", text } });

const methods = {
  initialize: async () => ({ protocolVersion: 1, agentCapabilities: { mcpCapabilities: { http: true } } }),
  "session/new": async () => ({ sessionId: "only" }),
  "session/prompt": async ({ prompt }) => {
    const text = prompt.map((block) => block.text).join("\n");
    const [, what, megabytes] = /^(text|drip|tool) (\d+)/m.exec(text) ?? [];
    if (what === "text") for (let n = 0; n < Number(megabytes) * 64; n++) await say(piece);
    if (what === "drip") {
      const drop = row(piece.slice(0, 100)).repeat(100);
      for (let n = 0; n < Number(megabytes) * 104.8576; n++) await write(drop);
    }
    if (what === "tool") {
      const content = [{ type: "content", content: { type: "text", text: piece.repeat(Number(megabytes) * 64) } }];
      await update({ sessionUpdate: "tool_call", toolCallId: "one", title: "much", kind: "read", rawInput: { a: 1 } });
      await update({ sessionUpdate: "tool_call_update", toolCallId: "one", status: "completed", content });
      await say("done");
    }
    return { stopReason: "end_turn" };
  },
};

for await (const row of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(row);
  const answer = methods[method];
  if (id === undefined) continue;
  if (answer === undefined) await send({ id, error: { code: -32601, message: `no ${method}` } });
  else void answer(params ?? {}).then((result) => send({ id, result }));
}
