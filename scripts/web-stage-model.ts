/** A model on loopback for the screenshots: it answers each question with one sentence, and counts tokens. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

const sentences = [
  "The list rule is the only one that reads a value after a comma. The other rules are right.",
  "Three callers depend on the error for `[1,]`. Two are tests, one is the importer.",
  "The importer can treat the error as an empty value. I would change it in the same commit.",
];

/** Returns the URL of the API, and a function that ends the server. */
export async function startStageModel(): Promise<{ url: string; stop: () => Promise<void> }> {
  let asked = 0;
  const server = createServer(async (request, response) => {
    const body = await Array.fromAsync(request as AsyncIterable<Buffer>);
    const prompt_tokens = 18_000 + Buffer.concat(body).length + 2_600 * asked;
    const content = sentences[asked++ % sentences.length];
    const usage = { prompt_tokens, completion_tokens: 420, total_tokens: prompt_tokens + 420 };
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write(chunk({ choices: [{ index: 0, delta: { content }, finish_reason: null }] }));
    response.write(chunk({ choices: [{ index: 0, delta: {}, finish_reason: "stop" }] }));
    response.write(chunk({ choices: [], usage }));
    response.end("data: [DONE]\n\n");
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    async stop() {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    },
  };
}

function chunk(data: object): string {
  return `data: ${JSON.stringify({ id: "1", object: "chat.completion.chunk", created: 0, model: "large", ...data })}\n\n`;
}
