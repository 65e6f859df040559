/** An HTTP server on loopback that keeps what it receives and answers as the test says. */
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";

export type ReceivedRequest = { headers: IncomingHttpHeaders; body: Buffer };
/** A status, or `cut` to break the connection after the request was read. */
export type Answer = number | "cut" | { status: number; headers: Record<string, string> };

export type Receiver = {
  url: string;
  requests: ReceivedRequest[];
  /** The answers to the next requests; afterwards it answers 204. */
  answers: Answer[];
};

export async function startReceiver(): Promise<Receiver> {
  const receiver: Receiver = { url: "", requests: [], answers: [] };
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    receiver.requests.push({ headers: request.headers, body: Buffer.concat(chunks) });
    const answer = receiver.answers.shift() ?? 204;
    if (answer === "cut") return void request.socket.destroy();
    if (typeof answer === "number") response.writeHead(answer);
    else response.writeHead(answer.status, answer.headers);
    response.end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  receiver.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`;
  return receiver;
}
