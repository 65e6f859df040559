import { type ClientRequest, type IncomingMessage, request } from "node:http";
import { type SseBlock, SseParser } from "@aegis/client/sse-parser.ts";
import { newId } from "@aegis/contract/ids.ts";
import { fakeClock } from "@aegis/test/helpers/fake-clock.ts";
import { waitUntil } from "@aegis/test/helpers/wait-until.ts";
import { expect, onTestFinished, test } from "vitest";
import { notice, sessionA, sessionB } from "../../../base/events/test/memory-events.ts";
import type { RunningServer } from "../src/server.ts";
import { errorOf, send, start, token } from "./start.ts";

type Stream = { response: IncomingMessage; request: ClientRequest; bytes: AsyncIterator<Buffer> };

/** An open stream of which nothing has been read yet. */
function open(server: RunningServer, query = "", headers: Record<string, string> = {}): Promise<Stream> {
  return new Promise((resolve, reject) => {
    const sent = request({
      host: "127.0.0.1",
      port: server.port,
      path: `/v1/events/stream${query}`,
      headers: { authorization: `Bearer ${token}`, ...headers },
      agent: false,
    });
    sent.on("error", reject);
    sent.on("response", (response) => {
      response.on("error", () => {});
      resolve({ response, request: sent, bytes: response[Symbol.asyncIterator]() });
    });
    onTestFinished(() => void sent.destroy());
    sent.end();
  });
}

/** Reads blocks until `count` are there or the stream ends. */
async function blocks(stream: Stream, count = Number.POSITIVE_INFINITY): Promise<SseBlock[]> {
  const parser = new SseParser();
  const found: SseBlock[] = [];
  while (found.length < count) {
    const { value, done } = await stream.bytes.next();
    if (done) break;
    found.push(...parser.push(value));
  }
  return found;
}

function ids(found: readonly SseBlock[]): (string | null)[] {
  return found.filter((block) => block.event === "event").map((block) => block.id);
}

test("events carry their number, deltas none, and the start is told first", async () => {
  const { server, services } = await start();
  services.store.commit(notice("stored"));
  const stream = await open(server, "?after=0&live=true");
  expect(stream.response.headers["content-type"]).toContain("text/event-stream");
  expect(stream.response.headers["x-content-type-options"]).toBe("nosniff");
  await waitUntil("the subscription is live", () => services.store.listeners.size === 1);
  services.hub.publishDelta({
    type: "text",
    session: sessionA,
    turn: newId("trn", 1),
    message: "m",
    offset: 0,
    text: "wor\n",
  });
  services.store.commit(notice("line\nbreak", sessionB));
  let text = "";
  while (!text.includes("break")) text += String((await stream.bytes.next()).value);
  const [first, second, third, fourth] = text.split("\n\n");
  expect(first).toBe("id: 0");
  expect(second).toBe(`id: 1\nevent: event\ndata: ${JSON.stringify(services.store.all[0])}`);
  expect(third).toMatch(/^event: delta\ndata: \{"type":"text".*"wor\\n"\}$/);
  expect(fourth).toBe(`id: 2\nevent: event\ndata: ${JSON.stringify(services.store.all[1])}`);
});

test("the start is `after`, else Last-Event-ID, else now", async () => {
  const { server, services } = await start();
  for (let i = 1; i <= 4; i++) services.store.commit(notice(`${i}`));
  const both = await open(server, "?after=2", { "last-event-id": "3" });
  expect(ids(await blocks(both, 3))).toEqual(["3", "4"]);
  const header = await open(server, "", { "last-event-id": "3" });
  expect(ids(await blocks(header, 2))).toEqual(["4"]);
  const now = await open(server);
  services.store.commit(notice("5"));
  expect(ids(await blocks(now, 2))).toEqual(["5"]);
  const session = await open(server, `?after=0&session=${sessionB}`);
  services.store.commit(notice("6", sessionB));
  expect(ids(await blocks(session, 2))).toEqual(["6"]);
});

test("a start that cannot be is refused as JSON", async () => {
  const { server } = await start();
  const beyond = await send(server, "GET", "/v1/events/stream?after=7");
  expect([beyond.status, errorOf(beyond).hint]).toEqual([409, expect.stringContaining("after=0")]);
  const odd = await send(server, "GET", "/v1/events/stream", { headers: { "last-event-id": "x" } });
  expect(odd.status).toBe(400);
  expect((await send(server, "GET", "/v1/events/stream?session=lucid-hertz")).status).toBe(400);
  expect((await send(server, "HEAD", "/v1/events/stream")).status).toBe(200);
});

test("a silent stream sends a comment as heartbeat", async () => {
  const clock = fakeClock();
  const { server } = await start({ clock, limits: { heartbeatMs: 15_000 } });
  const stream = await open(server);
  await stream.bytes.next();
  for (let i = 0; i < 3; i++) {
    await clock.sleepers(1);
    await clock.advance(15_000);
    expect(String((await stream.bytes.next()).value)).toMatch(/^:.*\n\n$/);
  }
});

test("a client that does not read is dropped, told so, and resumes without loss", { tags: "slow" }, async () => {
  const clock = fakeClock();
  const { server, services } = await start({ clock, limits: { stallMs: 1_000, heartbeatMs: 1_000_000_000 } });
  const slow = await open(server, "?after=0&live=true");
  await waitUntil("the subscription is live", () => services.store.listeners.size === 1);
  // More than the buffers of a loopback connection hold.
  for (let i = 1; i <= 40; i++) services.store.commit(notice("x".repeat(512 * 1024)));
  await waitUntil("the subscription is freed", async () => {
    await clock.advance(1_000);
    return services.hub.watched === "nothing";
  });
  const got = await blocks(slow);
  expect(got.at(-1)).toMatchObject({ event: "dropped", data: '{"reason":"slow"}' });
  expect(services.store.listeners.size).toBe(0);

  const last = Number(ids(got).at(-1) ?? 0);
  expect(last).toBeLessThan(40);
  const rest = await open(server, `?after=${last}`);
  const seen = [...ids(got), ...ids(await blocks(rest, 1 + 40 - last))];
  expect(seen).toEqual(services.store.all.map((event) => `${event.seq}`));
});

test("a client whose socket stays full is cut, and everything it held is freed", { tags: "slow" }, async () => {
  const clock = fakeClock();
  const limits = { stallMs: 1_000, heartbeatMs: 1_000_000_000 };
  const { server, services } = await start({ clock, limits });
  const stuck = await open(server, "?after=0&live=true");
  await waitUntil("the subscription is live", () => services.store.listeners.size === 1);
  for (let i = 1; i <= 40; i++) services.store.commit(notice("x".repeat(512 * 1024)));
  await waitUntil("the subscription is freed", async () => {
    await clock.advance(1_000);
    return services.hub.watched === "nothing";
  });
  const closed = new Promise((resolve) => stuck.response.once("close", resolve));
  await clock.sleepers(1);
  await clock.advance(1_000);
  stuck.response.resume();
  await closed;
});

test("a client that leaves frees its subscription", async () => {
  const { server, services } = await start();
  const streams = await Promise.all([open(server), open(server, `?session=${sessionA}`)]);
  await waitUntil("the subscriptions are live", () => services.store.listeners.size === 1);
  for (const stream of streams) stream.request.destroy();
  await waitUntil("the subscriptions are freed", () => services.store.listeners.size === 0);
});

test("a hundred clients all get every event", async () => {
  const { server, services } = await start();
  const streams = await Promise.all(Array.from({ length: 100 }, () => open(server, "?after=0")));
  for (let i = 1; i <= 20; i++) services.store.commit(notice(`${i}`));
  const expected = services.store.all.map((event) => `${event.seq}`);
  for (const stream of streams) expect(ids(await blocks(stream, 21))).toEqual(expected);
});

test("closing the server ends its streams at once", async () => {
  const { server, services } = await start({ clock: fakeClock() });
  const stream = await open(server);
  const rest = blocks(stream);
  await server.close();
  await rest;
  expect(services.store.listeners.size).toBe(0);
});

test("a subscription that fails says so without internals", async () => {
  const { server, services, logged } = await start();
  services.store.afterRead = () => {
    throw new Error("secret internals");
  };
  const found = await blocks(await open(server, "?after=0"));
  expect(found.at(-1)?.event).toBe("dropped");
  const { reason, details } = JSON.parse(found.at(-1)?.data ?? "") as { reason: string; details: { id: string } };
  expect(reason).toBe("failed");
  expect(JSON.stringify(found)).not.toContain("secret");
  expect(logged.find((line) => line.includes(details.id))).toContain("secret internals");
});
