/** The proxy of one sandbox: HTTP, and CONNECT for everything else, to the hosts that the policy allows. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { http } from "@aegis/lib/node-http.ts";
import { type HostRule, matchingRule, normalHost } from "../host-rules.ts";
import { dial } from "./dial.ts";
import type { Door } from "./network.ts";

export type ProxyOptions = {
  hosts: readonly HostRule[];
  refusal: (host: string, port: number) => string;
};

/** A connection that the policy refuses; the message is for the program and the agent that reads its output. */
class Refused extends Error {}

export function createProxy({ hosts, refusal }: ProxyOptions): Door {
  const server = http.createServer((request, response) => void forward(request, response, open));
  const open = async (named: string, port: number): Promise<Duplex> => {
    const host = normalHost(named);
    if (host === null || !Number.isInteger(port)) throw new Refused("this is no address of a host");
    if (matchingRule(hosts, host, port) === null) throw new Refused(refusal(host, port));
    return dial(host, port, hosts);
  };
  server.on("connect", (request, client, head) => void tunnel(request, client, head, open));
  server.on("clientError", (_error, socket) => socket.destroy());
  return {
    serve: (socket) => void server.emit("connection", socket),
    close: () => void server.closeAllConnections(),
  };
}

type OpenHost = (host: string, port: number) => Promise<Duplex>;

async function forward(request: IncomingMessage, response: ServerResponse, open: OpenHost): Promise<void> {
  const url = URL.parse(request.url ?? "");
  try {
    if (url?.protocol !== "http:") throw new Refused("the proxy takes http addresses, and CONNECT for all others");
    const server = await open(url.hostname, Number(url.port || 80));
    response.once("close", () => server.destroy());
    const { "proxy-authorization": _, "proxy-connection": __, ...headers } = request.headers;
    const out = http.request({
      createConnection: () => server,
      method: request.method,
      path: `${url.pathname}${url.search}`,
      headers: { ...headers, host: url.host, connection: "close" },
    });
    out.on("error", () => response.destroy());
    out.on("response", (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    request.pipe(out);
  } catch (error) {
    const text = `aegis sandbox: ${reasonOf(error)}\n`;
    response.writeHead(error instanceof Refused ? 403 : 502, { "content-type": "text/plain", connection: "close" });
    response.end(text);
  }
}

async function tunnel(request: IncomingMessage, client: Duplex, head: Buffer, open: OpenHost): Promise<void> {
  client.on("error", () => client.destroy());
  const [, host = "", port = ""] = /^(.+):(\d{1,5})$/.exec(request.url ?? "") ?? [];
  try {
    const server = await open(host, Number(port));
    server.on("error", () => client.destroy());
    server.on("close", () => client.destroy());
    client.on("close", () => server.destroy());
    client.write("HTTP/1.1 200 Connection established\r\n\r\n");
    if (head.length > 0) server.write(head);
    server.pipe(client).pipe(server);
  } catch (error) {
    // Most clients show only this line.
    const reason = reasonOf(error).replace(/[^ -~]/g, " ");
    const code = error instanceof Refused ? 403 : 502;
    client.end(`HTTP/1.1 ${code} ${reason}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n`);
  }
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
