#!/usr/bin/env node
/**
 * An ACP agent without a model that writes down what it is sent and what it does, each with a single append, so that a kill
 * leaves a line whole or absent. It acts on every `act-…` and `permit-…` in a prompt, on the latter after it was permitted.
 *
 *   --folder=…      conversations, acts and pids of all agents, and processes that worked for one session at once
 *   --load=…        replays, silent (loads without a replay), refuses, none (cannot load)
 *   --think=ms      silence before the first output of a turn
 */
import { randomUUID } from "node:crypto";
import { appendFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as pause } from "node:timers/promises";

const flags = new Map(process.argv.slice(2).map((flag) => flag.replace(/^--/, "").split("=")));
const folder = flags.get("folder");
const load = flags.get("load");
const thinkMs = Number(flags.get("think"));

const conversations = join(folder, "conversations");
mkdirSync(conversations, { recursive: true });
mkdirSync(join(folder, "working"), { recursive: true });
const append = (path, value) => appendFileSync(path, `${JSON.stringify(value)}\n`);
const lines = (path) =>
  existsSync(path)
    ? readFileSync(path, "utf8")
        .split("\n")
        .filter((line) => line !== "")
        .map((line) => JSON.parse(line))
    : [];
const acts = join(folder, "acts.jsonl");
append(join(folder, "pids.jsonl"), { pid: process.pid });

// The reader of the output is gone.
process.stdout.on("error", () => process.exit(1));
const send = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
const update = (sessionId, value) => send({ method: "session/update", params: { sessionId, update: value } });
const content = (text) => ({ content: { type: "text", text } });
const fault = (code, message) => Object.assign(new Error(message), { code });

const waiting = new Map();
let lastId = 0;
const ask = (method, params) =>
  new Promise((resolve) => {
    lastId += 1;
    waiting.set(lastId, resolve);
    send({ id: lastId, method, params });
  });

/** An agent that cannot load a conversation has one session for its flags; others keep the id of their conversation. */
const workOf = (id) => join(folder, "working", load === "none" || load === "refuses" ? `${load}-${thinkMs}` : id);

/** Writes down if another process works for the same session at this moment. */
function noteTwin(id) {
  const other = existsSync(workOf(id)) ? Number(readFileSync(workOf(id), "utf8")) : process.pid;
  if (other !== process.pid && isAgent(other)) append(join(folder, "twins.jsonl"), { session: workOf(id), other });
  writeFileSync(workOf(id), String(process.pid));
}

function isAgent(pid) {
  try {
    // A process that has ended and that its parent has not noticed yet has no command line.
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").includes(folder);
  } catch {
    return false;
  }
}

const fileOf = (id) => join(conversations, `${id}.jsonl`);
/** A notice about a call that was denied names what the call was for. */
const tokensOf = (text) => text.replace(/^\[Aegis: your call .*$/gm, "").match(/\b(?:act|permit)-\w+/g) ?? [];
const hasActed = (token) => lines(acts).some((act) => act.token === token);
let isCancelled = false;

/** An agent that never asks for its tools is waited for. */
async function listTools([server]) {
  if (server === undefined) return;
  const headers = Object.fromEntries(server.headers.map(({ name, value }) => [name, value]));
  const types = { "content-type": "application/json", accept: "application/json, text/event-stream" };
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list" });
  await fetch(server.url, { method: "POST", headers: { ...headers, ...types }, body }).catch(() => {});
}

/** What the conversation was sent since the last prompt that came to its end. */
function unfinished(id) {
  const all = lines(fileOf(id));
  const rest = all.slice(all.findLastIndex((line) => line.done === true) + 1);
  return [...new Set(rest.flatMap((line) => tokensOf(line.prompt ?? "")))];
}

async function permitted(sessionId, token) {
  const toolCall = { toolCallId: token, title: `Do ${token}`, kind: "execute", rawInput: { command: token } };
  update(sessionId, { sessionUpdate: "tool_call", ...toolCall, status: "pending" });
  const options = [
    { optionId: "yes", name: "Once", kind: "allow_once" },
    { optionId: "no", name: "No", kind: "reject_once" },
  ];
  const { result } = await ask("session/request_permission", { sessionId, toolCall, options });
  // A client that ends a turn answers what is open with "cancelled", which is no decision.
  if (result?.outcome?.outcome === "cancelled") isCancelled = true;
  return result?.outcome?.optionId === "yes";
}

async function work(sessionId, text) {
  const isCut = text.includes("Your last turn was cut");
  const isMarked = text.includes("has no record of it") || text.includes("cannot tell whether you received it");
  const tokens = isCut ? unfinished(sessionId) : tokensOf(text);
  noteTwin(sessionId);
  append(fileOf(sessionId), { prompt: text, marked: isMarked });
  await pause(thinkMs);
  update(sessionId, { sessionUpdate: "agent_message_chunk", ...content("working. ") });
  for (const token of tokens) {
    // It was told to check before it repeats anything. Without a mark it has no reason to.
    if ((isCut || isMarked) && hasActed(token)) continue;
    const may = !token.startsWith("permit-") || (await permitted(sessionId, token));
    if (isCancelled) return { stopReason: "cancelled" };
    if (!may) continue;
    append(acts, { token, conversation: sessionId });
    update(sessionId, { sessionUpdate: "agent_message_chunk", ...content(`did ${token}. `) });
  }
  append(fileOf(sessionId), { done: true });
  rmSync(workOf(sessionId), { force: true });
  return { stopReason: "end_turn" };
}

const methods = {
  initialize: () => ({
    protocolVersion: 1,
    agentInfo: { name: "chaos", version: "1.0.0" },
    agentCapabilities: { loadSession: load !== "none", mcpCapabilities: { http: true } },
  }),
  "session/new"({ mcpServers }) {
    void listTools(mcpServers);
    return { sessionId: randomUUID() };
  },
  "session/load"({ sessionId, mcpServers }) {
    if (load === "refuses" || !existsSync(fileOf(sessionId))) throw fault(-32603, "Invalid session identifier");
    void listTools(mcpServers);
    for (const { prompt } of load === "replays" ? lines(fileOf(sessionId)) : [])
      if (prompt !== undefined) update(sessionId, { sessionUpdate: "user_message_chunk", ...content(prompt) });
    return {};
  },
  "session/prompt"({ sessionId, prompt }) {
    isCancelled = false;
    return work(sessionId, prompt.at(-1)?.text ?? "");
  },
  "session/cancel"() {
    isCancelled = true;
  },
};

// Most agents end when their input is closed; one that replays finishes what it has begun.
const input = createInterface({ input: process.stdin });
if (load !== "replays") input.on("close", () => process.exit(0));
input.on("line", async (line) => {
  const { id, method, params, ...answer } = JSON.parse(line);
  if (method === undefined) {
    waiting.get(id)?.(answer);
    return;
  }
  try {
    if (methods[method] === undefined) throw fault(-32601, "Method not found");
    const result = await methods[method](params);
    if (id !== undefined) send({ id, result });
  } catch ({ code = -32603, message }) {
    if (id !== undefined) send({ id, error: { code, message } });
  }
});
