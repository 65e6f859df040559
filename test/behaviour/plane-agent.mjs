#!/usr/bin/env node
// An ACP agent that writes down the MCP server it was given, so that a test can call the plane in its place.
// "show <name>" writes it to planes/<name>.json; "hold <name>" does the same and never ends the turn by itself, and the
// process then outlives whoever started it by up to a minute.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";

const send = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
let place = null;
let held = null;

/** An agent that never asks for its tools is waited for. */
const listTools = ({ url, headers }) =>
  fetch(url, {
    method: "POST",
    headers: {
      ...Object.fromEntries(headers.map(({ name, value }) => [name, value])),
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list" }),
  });

const methods = {
  initialize: async () => ({ protocolVersion: 1, agentCapabilities: { mcpCapabilities: { http: true } } }),
  "session/new": async (params) => {
    place = params;
    await listTools(place.mcpServers[0]);
    return { sessionId: "only" };
  },
  "session/prompt": async ({ prompt }) => {
    const text = prompt.map((block) => block.text).join("\n");
    const [, verb, name] = /^(show|hold) (\S+)/m.exec(text) ?? [];
    if (name !== undefined) {
      const [{ url, headers }] = place.mcpServers;
      const folder = join(place.cwd, "planes");
      mkdirSync(folder, { recursive: true });
      writeFileSync(
        join(folder, `${name}.json`),
        JSON.stringify({ url, authorization: headers[0].value, pid: process.pid }),
      );
    }
    if (verb === "hold") {
      setTimeout(() => {}, 60_000);
      return new Promise((resolve) => {
        held = () => resolve({ stopReason: "cancelled" });
      });
    }
    return { stopReason: "end_turn" };
  },
};

for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line);
  if (method === "session/cancel") held?.();
  const handle = methods[method];
  if (id === undefined) continue;
  if (handle === undefined) send({ id, error: { code: -32601, message: `no ${method}` } });
  else handle(params).then((result) => send({ id, result }));
}
