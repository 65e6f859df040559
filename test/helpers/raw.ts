/** Requests as no well-behaved client makes them. */
import { request as httpRequest, type IncomingHttpHeaders } from "node:http";
import { connect, type Socket } from "node:net";
import type { ErrorBody } from "@aegis/contract/errors.ts";
import { onTestFinished } from "vitest";
import type { Daemon } from "../helpers/project.ts";

export type Answer = { status: number; headers: IncomingHttpHeaders; text: string };

export type RawRequest = {
  method?: string;
  /** With the daemon's token unless `authorization` is given here; null leaves a header out. */
  headers?: Readonly<Record<string, string | null>>;
  body?: string | Uint8Array;
};

export function raw({ file }: Pick<Daemon, "file">, path: string, options: RawRequest = {}): Promise<Answer> {
  const port = new URL(file.url).port || 80;
  const given = { authorization: `Bearer ${file.token}`, ...options.headers };
  const headers = Object.fromEntries(
    Object.entries(given).filter(([, value]) => value !== null),
  ) as IncomingHttpHeaders;
  const { method = "GET", body } = options;
  return new Promise((resolve, reject) => {
    const request = httpRequest({ host: "127.0.0.1", port, method, path, headers, agent: false }, async (response) => {
      const chunks: Buffer[] = [];
      for await (const chunk of response) chunks.push(chunk as Buffer);
      const text = Buffer.concat(chunks).toString("utf8");
      resolve({ status: response.statusCode ?? 0, headers: response.headers, text });
    });
    request.on("error", reject);
    request.end(body);
  });
}

export function post(daemon: Pick<Daemon, "file">, path: string, body: string | Uint8Array): Promise<Answer> {
  return raw(daemon, path, { method: "POST", headers: { "content-type": "application/json" }, body });
}

export function errorOf({ text }: Answer): ErrorBody["error"] {
  return (JSON.parse(text) as ErrorBody).error;
}

/** A connection that sends these bytes and then reads nothing. */
export async function deafSocket({ file }: Pick<Daemon, "file">, bytes: string): Promise<Socket> {
  const socket = connect(Number(new URL(file.url).port), "127.0.0.1");
  onTestFinished(() => void socket.destroy());
  socket.on("error", () => {});
  await new Promise((resolve) => socket.write(bytes, resolve));
  socket.pause();
  return socket;
}
