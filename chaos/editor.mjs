#!/usr/bin/env node
/**
 * An ACP agent without a model that appends lines to a file which it shares with others: it reads the file, asks for
 * permission with the text that it read and the text that it would write, and writes that text. A refused edit is tried
 * again from the beginning. Each line that it wrote is also added to a journal, with a single append.
 *
 *   --file=…      the shared file
 *   --journal=…   the lines that were written
 *   --pause=ms    the longest time between permission and write
 */
import { randomUUID } from "node:crypto";
import { appendFileSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { setTimeout as pause } from "node:timers/promises";

const flags = new Map(process.argv.slice(2).map((flag) => flag.replace(/^--/, "").split("=")));
const file = flags.get("file");
const journal = flags.get("journal");
const pauseMs = Number(flags.get("pause"));

// The reader of the output is gone.
process.stdout.on("error", () => process.exit(1));
const send = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
const update = (sessionId, value) => send({ method: "session/update", params: { sessionId, update: value } });

const waiting = new Map();
let lastId = 0;
const ask = (method, params) =>
  new Promise((resolve) => {
    lastId += 1;
    waiting.set(lastId, resolve);
    send({ id: lastId, method, params });
  });

async function append(sessionId, line) {
  for (;;) {
    const oldText = readFileSync(file, "utf8");
    // A message that was sent again after a kill.
    if (oldText.split("\n").includes(line)) return;
    const newText = `${oldText}${line}\n`;
    const content = [{ type: "diff", path: file, oldText, newText }];
    const toolCall = { toolCallId: randomUUID(), title: "Append", kind: "edit", locations: [{ path: file }], content };
    update(sessionId, { sessionUpdate: "tool_call", ...toolCall, status: "pending" });
    const options = [
      { optionId: "yes", name: "Once", kind: "allow_once" },
      { optionId: "no", name: "No", kind: "reject_once" },
    ];
    const { result } = await ask("session/request_permission", { sessionId, toolCall, options });
    if (result?.outcome?.optionId !== "yes") continue;
    await pause(Math.random() * pauseMs);
    const temporary = `${file}.${randomUUID()}`;
    writeFileSync(temporary, newText);
    renameSync(temporary, file);
    appendFileSync(journal, `${line}\n`);
    update(sessionId, { sessionUpdate: "tool_call_update", toolCallId: toolCall.toolCallId, status: "completed" });
    return;
  }
}

async function work(sessionId, text) {
  for (const [, token, times] of text.matchAll(/append (\S+) (\d+)/g))
    for (let index = 0; index < Number(times); index++) await append(sessionId, `${token} ${index}`);
  update(sessionId, { sessionUpdate: "agent_message_chunk", content: { type: "text", text: "done" } });
  return { stopReason: "end_turn" };
}

const methods = {
  initialize: () => ({ protocolVersion: 1, agentCapabilities: { mcpCapabilities: { http: true } } }),
  async "session/new"({ mcpServers: [server] }) {
    const headers = Object.fromEntries(server.headers.map(({ name, value }) => [name, value]));
    const types = { "content-type": "application/json", accept: "application/json, text/event-stream" };
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list" });
    void fetch(server.url, { method: "POST", headers: { ...headers, ...types }, body }).catch(() => {});
    return { sessionId: randomUUID() };
  },
  "session/prompt": ({ sessionId, prompt }) => work(sessionId, prompt.at(-1)?.text ?? ""),
};

const input = createInterface({ input: process.stdin });
input.on("close", () => process.exit(0));
input.on("line", async (line) => {
  const { id, method, params, ...answer } = JSON.parse(line);
  if (method === undefined) return waiting.get(id)?.(answer);
  const result = await methods[method]?.(params);
  if (id !== undefined)
    send(result === undefined ? { id, error: { code: -32601, message: "unknown" } } : { id, result });
});
