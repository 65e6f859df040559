/**
 * The floor for talking over HTTP: node:http alone. A message posted to a session is answered at once and echoed to the
 * session's event streams as the events a client waits for. Keeps nothing. Prints its port.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

const streams = new Map<string, Set<ServerResponse>>();
let seq = 0;

const server = createServer((request, response) => {
  const url = new URL(request.url ?? "/", "http://127.0.0.1");
  if (request.method === "GET") openStream(url.searchParams.get("session") ?? "", response);
  else void echo(url.pathname.split("/").at(-2) ?? "", request, response);
});
server.listen(0, "127.0.0.1", () => process.stdout.write(`${(server.address() as AddressInfo).port}\n`));

function openStream(session: string, response: ServerResponse): void {
  const open = streams.get(session) ?? new Set();
  streams.set(session, open.add(response));
  response.on("close", () => open.delete(response));
  response.writeHead(200, { "content-type": "text/event-stream" });
  response.write("id: 0\n\n");
}

async function echo(session: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const message = JSON.parse(Buffer.concat(chunks).toString("utf8")) as { id: string; text: string };
  tell(session, "message.admitted", { message });
  tell(session, "turn.ended", { text: message.text });
  tell(session, "session.state", { state: "ready" });
  const answer = JSON.stringify({ receipt: { message: message.id } });
  response.writeHead(200, { "content-type": "application/json", "content-length": Buffer.byteLength(answer) });
  response.end(answer);
}

function tell(session: string, type: string, data: unknown): void {
  seq += 1;
  const frame = `id: ${seq}\nevent: event\ndata: ${JSON.stringify({ seq, at: Date.now(), type, session, data })}\n\n`;
  for (const stream of streams.get(session) ?? []) stream.write(frame);
}
