#!/usr/bin/env node
// An ACP agent that asks a person through the plane and tells its client nothing of the call: no tool call, no text.
// With "permission" in the prompt it asks its client for permission instead. It then says what it was told.
import { createInterface } from "node:readline";

const send = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
const asked = Promise.withResolvers();
let plane = null;

async function rpc(method, params) {
  const response = await fetch(plane.url, {
    method: "POST",
    headers: {
      ...Object.fromEntries(plane.headers.map(({ name, value }) => [name, value])),
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
  });
  return response.text();
}

function permission() {
  const toolCall = { toolCallId: "c1", title: "deploy", kind: "execute", rawInput: { command: "deploy" } };
  const options = [
    { optionId: "yes", name: "Yes", kind: "allow_once" },
    { optionId: "no", name: "No", kind: "reject_once" },
  ];
  send({ id: "ask", method: "session/request_permission", params: { sessionId: "only", toolCall, options } });
  return asked.promise;
}

const methods = {
  initialize: async () => ({ protocolVersion: 1, agentCapabilities: { mcpCapabilities: { http: true } } }),
  "session/new": async ({ mcpServers }) => {
    [plane] = mcpServers;
    await rpc("tools/list");
    return { sessionId: "only" };
  },
  "session/prompt": async ({ prompt }) => {
    const isPermission = prompt.some((block) => /permission/.test(block.text ?? ""));
    const question = { name: "aegis_ask_human", arguments: { question: "ship it?" } };
    const answer = isPermission ? await permission() : await rpc("tools/call", question);
    const said = /go ahead|yes/.test(JSON.stringify(answer)) ? "I may" : `I may not: ${JSON.stringify(answer)}`;
    const update = { sessionUpdate: "agent_message_chunk", content: { type: "text", text: said } };
    send({ method: "session/update", params: { sessionId: "only", update } });
    return { stopReason: "end_turn" };
  },
};

for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params, result } = JSON.parse(line);
  if (id === "ask") asked.resolve(result);
  const handle = methods[method];
  if (id === undefined || method === undefined) continue;
  if (handle === undefined) send({ id, error: { code: -32601, message: `no ${method}` } });
  else handle(params).then((answer) => send({ id, result: answer }));
}
