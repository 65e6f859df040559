/** A real server over fake services, and raw ways to talk to it. */
import { type ClientRequestArgs, request as httpRequest, type IncomingMessage } from "node:http";
import { connect, type Socket } from "node:net";
import type { ErrorBody } from "@aegis/contract/errors.ts";
import type { HubLimits } from "@aegis/events/hub.ts";
import type { Logger } from "@aegis/lib/log.ts";
import { onTestFinished } from "vitest";
import { createServer, type RunningServer, type ServerOptions } from "../src/server.ts";
import { type FakeServices, fakeServices } from "./fake-services.ts";

export const token = "test-token-0123456789abcdef";

export type Running = { server: RunningServer; services: FakeServices; logged: string[] };

export async function start(
  options: Partial<ServerOptions> & { hub?: Partial<HubLimits>; services?: FakeServices } = {},
): Promise<Running> {
  const { hub, ...rest } = options;
  const services = options.services ?? fakeServices(hub);
  const logged: string[] = [];
  const server = await createServer({
    token,
    bind: "127.0.0.1",
    port: 0,
    version: "1.2.3",
    log: recorder(logged),
    ...rest,
    services,
  });
  onTestFinished(() => server.close());
  return { server, services, logged };
}

export type Answer = { status: number; headers: IncomingMessage["headers"]; text: string };

/** One request with exactly these headers; `authorization` is added unless it is given as null. */
export function send(
  server: RunningServer,
  method: string,
  path: string,
  options: { headers?: Record<string, string | null>; body?: string | Buffer } = {},
): Promise<Answer> {
  const given: Record<string, string | null> = { authorization: `Bearer ${token}`, ...options.headers };
  const headers = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== null)) as Record<
    string,
    string
  >;
  const target: ClientRequestArgs = { host: "127.0.0.1", port: server.port, method, path, headers, agent: false };
  return new Promise((resolve, reject) => {
    const request = httpRequest(target, async (response) => {
      const chunks: Buffer[] = [];
      for await (const chunk of response) chunks.push(chunk as Buffer);
      const text = Buffer.concat(chunks).toString("utf8");
      resolve({ status: response.statusCode ?? 0, headers: response.headers, text });
    });
    request.on("error", reject);
    request.end(options.body);
  });
}

export function sendJson(server: RunningServer, method: string, path: string, body: unknown): Promise<Answer> {
  return send(server, method, path, {
    headers: { "content-type": "application/json" },
    body: typeof body === "string" ? body : JSON.stringify(body),
  });
}

export function errorOf(answer: Answer): ErrorBody["error"] {
  return (JSON.parse(answer.text) as ErrorBody).error;
}

/** Writes bytes as they are and resolves with all that comes back once the server closes. */
export function sendRaw(server: RunningServer, bytes: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = rawSocket(server);
    let received = "";
    socket.on("data", (chunk) => {
      received += chunk.toString("utf8");
    });
    socket.on("close", () => resolve(received));
    socket.on("error", reject);
    socket.write(bytes);
  });
}

export function rawSocket(server: RunningServer): Socket {
  const socket = connect(server.port, "127.0.0.1");
  onTestFinished(() => void socket.destroy());
  return socket;
}

function recorder(lines: string[]): Logger {
  const write = (message: string, fields: Record<string, unknown> = {}) => {
    lines.push(`${message} ${JSON.stringify(fields)}`);
  };
  return { debug: write, info: write, warn: write, error: write };
}
