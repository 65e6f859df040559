/** A model on loopback that speaks OpenAI's chat stream: a hundred words at once, or words without end when asked so. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

const words = 100;
const everyMs = 5;

const server = createServer(async (request, response) => {
  const body = Buffer.concat(await Array.fromAsync(request as AsyncIterable<Buffer>)).toString("utf8");
  response.writeHead(200, { "content-type": "text/event-stream" });
  if (body.includes("without end")) return speakForEver(request, response);
  for (let word = 0; word < words; word++) response.write(chunk({ content: "word " }, null));
  response.write(chunk({}, "stop"));
  response.end("data: [DONE]\n\n");
});

function speakForEver(request: IncomingMessage, response: ServerResponse): void {
  const timer = setInterval(() => response.write(chunk({ content: "word " }, null)), everyMs);
  request.socket.once("close", () => clearInterval(timer));
}

function chunk(delta: Record<string, string>, finish: string | null): string {
  const choices = [{ index: 0, delta, finish_reason: finish }];
  return `data: ${JSON.stringify({ id: "1", object: "chat.completion.chunk", created: 0, model: "words", choices })}\n\n`;
}

server.listen(0, "127.0.0.1", () => process.stdout.write(`${(server.address() as AddressInfo).port}\n`));
