import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { httpFetch } from "../src/project/http-fetch.ts";

async function serve(listener: RequestListener): Promise<{ url: string; close(): Promise<void> }> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const close = async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  onTestFinished(close);
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, close };
}

test("sends method, headers and body, and returns status and body", async () => {
  const big = JSON.stringify({ text: "ü".repeat(300_000) });
  const seen: unknown[] = [];
  const { url } = await serve(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const { method, headers } = request;
    seen.push({ method, url: request.url, headers, body: Buffer.concat(chunks).toString() });
    response.writeHead(request.url === "/refused" ? 401 : 200).end(big);
  });
  const headers = { authorization: "Bearer t", "content-type": "application/json" };
  const response = await httpFetch(`${url}/a?b=c`, { method: "POST", headers, body: '{"é":1}' });
  expect(response).toMatchObject({ ok: true, status: 200 });
  expect(await response.text()).toBe(big);
  expect(seen).toMatchObject([{ method: "POST", url: "/a?b=c", body: '{"é":1}', headers: { ...headers } }]);
  const refused = await httpFetch(`${url}/refused`);
  expect(refused).toMatchObject({ ok: false, status: 401 });
  expect(await refused.json()).toEqual(JSON.parse(big));
});

test("reads a stream chunk by chunk, until the server ends it", async () => {
  let next = () => {};
  const { url } = await serve((_, response) => {
    response.write("one");
    next = () => void response.end("two");
  });
  const reader = (await httpFetch(url)).body?.getReader();
  expect(String((await reader?.read())?.value)).toBe("one");
  next();
  expect(String((await reader?.read())?.value)).toBe("two");
  expect(await reader?.read()).toEqual({ done: true, value: undefined });
});

test("fails with the system's error if no server listens", async () => {
  const { url, close } = await serve((_, response) => void response.end());
  await close();
  await expect(httpFetch(url)).rejects.toMatchObject({ message: "fetch failed", cause: { code: "ECONNREFUSED" } });
});

test("fails when its signal aborts, before and after the head of the response", async () => {
  const silent = await serve(() => {});
  await expect(httpFetch(silent.url, { signal: AbortSignal.timeout(20) })).rejects.toThrow("fetch failed");
  const endless = await serve((_, response) => void response.write("one"));
  const stop = new AbortController();
  const reader = (await httpFetch(endless.url, { signal: stop.signal })).body?.getReader();
  await reader?.read();
  const rest = reader?.read();
  stop.abort();
  await expect(rest).rejects.toThrow();
});

test("fails if the connection breaks inside the body", async () => {
  const { url } = await serve((_, response) => {
    response.writeHead(200, { "content-length": "10" });
    response.write("half", () => response.destroy());
  });
  await expect((await httpFetch(url)).text()).rejects.toThrow();
});
