import { messageMaxBytes } from "@aegis/contract/message.ts";
import { fakeClock } from "@aegis/test/helpers/fake-clock.ts";
import { expect, test } from "vitest";
import { fakeServices } from "./fake-services.ts";
import { errorOf, rawSocket, send, sendJson, sendRaw, start, token } from "./start.ts";

const messages = "/v1/sessions/lucid-hertz/messages";

test("a message reaches the inbox from a human", async () => {
  const { server, services } = await start();
  const answer = await sendJson(server, "POST", messages, { text: "héllo\u2028 🚀" });
  expect(answer.status).toBe(200);
  expect(JSON.parse(answer.text)).toMatchObject({ receipt: { outcome: "landed" } });
  expect(services.calls).toMatchObject([
    { name: "admit", input: { body: "héllo\u2028 🚀", sender: { kind: "human" }, interrupt: false } },
  ]);
});

test("answers carry the security headers", async () => {
  const { server } = await start();
  for (const path of ["/health", "/v1/status", "/v1/nothing"]) {
    const { headers } = await send(server, "GET", path);
    expect(headers).toMatchObject({
      "x-content-type-options": "nosniff",
      "cache-control": "no-store",
      "content-security-policy": expect.stringContaining("'none'"),
    });
  }
});

test("all problems of a request are told at once, each with its field", async () => {
  const { server, services } = await start();
  const body = { id: "tsk_1", text: 5, interupt: true };
  const answer = await sendJson(server, "POST", `${messages}?limt=3`, body);
  expect(answer.status).toBe(400);
  const { message, details } = errorOf(answer);
  expect(message).toContain('unknown field "interupt" (did you mean "interrupt"?)');
  expect(message).toMatch(/(^|; )id: /);
  expect(message).toMatch(/(^|; )text: /);
  expect(message).toContain('unknown query parameter "limt"');
  expect(message).not.toMatch(/\b(body|query|path)\./);
  expect(details).toMatchObject({
    problems: expect.arrayContaining([{ field: "id", in: "body", message: expect.any(String) }]),
  });
  expect(services.calls).toEqual([]);
});

test("query values are read from text, and an empty one counts as absent", async () => {
  const { server, services } = await start();
  for (let i = 0; i < 3; i++) services.store.commit({ type: "daemon.stopping", session: null, data: { reason: "x" } });
  const page = JSON.parse((await send(server, "GET", "/v1/events?after=1&limit=1")).text);
  expect(page).toMatchObject({ events: [{ seq: 2 }], last_seq: 3 });
  expect(JSON.parse((await send(server, "GET", "/v1/events?after=&limit=")).text).events).toHaveLength(3);
  expect((await send(server, "GET", "/v1/events?after=-1")).status).toBe(400);
  expect((await send(server, "GET", "/v1/events?after=x&limit=0")).text).toMatch(
    /[" ]after: expected a number; limit: /,
  );
});

test.each([
  ["a NUL", { text: "a\0b" }, "NUL"],
  ["half of a surrogate pair", { text: "a\ud800b" }, "surrogate"],
  ["nothing", { text: "" }, "text: "],
])("a message text with %s is refused", async (_, body, expected) => {
  const { server } = await start();
  const answer = await sendJson(server, "POST", messages, body);
  expect([answer.status, answer.text]).toEqual([400, expect.stringContaining(expected)]);
});

test("the largest message passes, one byte more does not", async () => {
  const { server, services } = await start();
  const text = "é".repeat(messageMaxBytes / 2);
  expect((await sendJson(server, "POST", messages, { text })).status).toBe(200);
  expect(services.calls[0]?.input).toMatchObject({ body: text });
  const answer = await sendJson(server, "POST", messages, { text: `${text}x` });
  expect([answer.status, errorOf(answer).code]).toEqual([413, "too_large"]);
});

test.each(["content-length", "chunked"])("a body over the cap is refused and not read on (%s)", async (framing) => {
  const { server } = await start({ limits: { bodyBytes: 1_000 } });
  const answer = await send(server, "POST", messages, {
    headers: { "content-type": "application/json", ...(framing === "chunked" ? { "transfer-encoding": framing } : {}) },
    body: JSON.stringify({ text: "x".repeat(2_000) }),
  });
  expect([answer.status, errorOf(answer).code]).toEqual([413, "too_large"]);
  expect(answer.headers.connection).toBe("close");
});

test("a body that is announced too large is refused before it is sent", async () => {
  const { server } = await start();
  const head = ["POST /v1/sessions HTTP/1.1", `Host: 127.0.0.1:${server.port}`, `Authorization: Bearer ${token}`];
  head.push("Content-Type: application/json", "Content-Length: 99999999999");
  expect(await sendRaw(server, `${head.join("\r\n")}\r\n\r\n`)).toMatch(/^HTTP\/1\.1 413 /);
});

test.each([
  [`{"text": "a",}`, 13],
  [`xyz`, 0],
  [`{"text": tru}`, 12],
  [`{"text": "a"`, 12],
  [`{"text":\n  nope}`, 12],
  [`{} {}`, 3],
])("broken JSON is told with its position: %s", async (body, position) => {
  const { server } = await start();
  const answer = await sendJson(server, "POST", messages, body);
  expect(answer.status).toBe(400);
  expect(errorOf(answer)).toMatchObject({ code: "invalid", details: { position } });
  expect(errorOf(answer).message).toMatch(/line \d+, column \d+/);
});

test.each(["[]", "3", "null", '"text"'])("JSON that is no object is refused: %s", async (body) => {
  const { server } = await start();
  expect((await sendJson(server, "POST", messages, body)).status).toBe(400);
});

test("bytes that are not UTF-8 are refused", async () => {
  const { server } = await start();
  const body = Buffer.concat([Buffer.from('{"text":"'), Buffer.from([0xc3, 0x28]), Buffer.from('"}')]);
  const answer = await send(server, "POST", messages, { headers: { "content-type": "application/json" }, body });
  expect([answer.status, errorOf(answer).message]).toEqual([400, "the body is not valid UTF-8"]);
});

test.each([
  ["text/plain", 415],
  ["application/x-www-form-urlencoded", 415],
  ["application/json; charset=latin1", 415],
  ["application/jsonx", 415],
  [null, 415],
  ["application/json", 200],
  ["Application/JSON; charset=UTF-8", 200],
])("content-type %s gives %i", async (type, status) => {
  const { server } = await start();
  const answer = await send(server, "POST", messages, { headers: { "content-type": type }, body: '{"text":"a"}' });
  expect(answer.status).toBe(status);
});

test("an action without a body needs no content-type", async () => {
  const { server, services } = await start();
  expect((await send(server, "POST", "/v1/shutdown")).status).toBe(200);
  expect(services.calls).toEqual([{ name: "shutdown", input: { force: false } }]);
});

test("an unknown route names the nearest, a wrong method the right ones", async () => {
  const { server } = await start();
  expect(errorOf(await send(server, "GET", "/v1/session/abc/turns")).hint).toContain("/v1/sessions/:session/turns");
  expect(errorOf(await send(server, "GET", "/v1/statsu")).hint).toContain("/v1/status");
  expect(errorOf(await send(server, "GET", "/quite/elsewhere")).hint).toContain("/openapi.json");
  const answer = await send(server, "PUT", "/v1/sessions/abc");
  expect([answer.status, answer.headers.allow]).toEqual([405, "GET, HEAD, PATCH"]);
  expect((await send(server, "HEAD", "/v1/status")).status).toBe(200);
});

test("an error of the daemon keeps its code and hint; anything else is an id that the log explains", async () => {
  const services = fakeServices();
  services.status = async () => {
    throw new TypeError("secret internals");
  };
  const { server, logged } = await start({ services });
  const known = await send(server, "GET", "/v1/sessions/nobody-here");
  expect([known.status, errorOf(known)]).toMatchObject([404, { code: "not_found", hint: "did you mean lucid-hertz?" }]);

  const unknown = await send(server, "GET", "/v1/status");
  expect([unknown.status, unknown.text]).toEqual([500, expect.not.stringContaining("secret")]);
  const { id } = errorOf(unknown).details as { id: string };
  expect(logged.find((line) => line.includes(id))).toContain("secret internals");
});

test("a client that dribbles its headers is cut off", async () => {
  const { server } = await start({ limits: { headersMs: 50, requestMs: 100, checkMs: 10 } });
  expect(await sendRaw(server, "GET /health HTTP/1.1\r\nHost: ")).toMatch(/^HTTP\/1\.1 408 /);
});

test("a client that dribbles its body is cut off", async () => {
  const { server } = await start({ limits: { headersMs: 50, requestMs: 100, checkMs: 10 } });
  const head = ["POST /v1/sessions HTTP/1.1", `Host: 127.0.0.1:${server.port}`, `Authorization: Bearer ${token}`];
  head.push("Content-Type: application/json", "Content-Length: 10");
  expect(await sendRaw(server, `${head.join("\r\n")}\r\n\r\n{`)).toMatch(/^HTTP\/1\.1 408 /);
});

test("headers that are too large and lines that are not HTTP are refused as JSON", async () => {
  const { server } = await start();
  const large = await sendRaw(server, `GET /health HTTP/1.1\r\nHost: x\r\nX: ${"x".repeat(20_000)}\r\n\r\n`);
  expect(large).toMatch(/^HTTP\/1\.1 431 [\s\S]*"code":"too_large"/);
  expect(await sendRaw(server, "nonsense\r\n\r\n")).toMatch(/^HTTP\/1\.1 400 [\s\S]*"code":"invalid"/);
});

test("closing waits for a request in progress and drops idle connections", async () => {
  const services = fakeServices();
  const gate = Promise.withResolvers<void>();
  const entered = Promise.withResolvers<void>();
  const status = services.status;
  services.status = async () => {
    entered.resolve();
    await gate.promise;
    return status();
  };
  // Its clock stands still: nothing here may wait for the grace to pass.
  const { server } = await start({ services, clock: fakeClock() });
  const idle = rawSocket(server);
  await new Promise((resolve) => idle.once("connect", resolve));
  const answer = send(server, "GET", "/v1/status", { headers: { connection: "keep-alive" } });
  await entered.promise;
  const closed = server.close();
  expect(server.close()).toBe(closed);
  gate.resolve();
  expect((await answer).status).toBe(200);
  await closed;
  await expect(send(server, "GET", "/health")).rejects.toThrow("ECONNREFUSED");
});

test("one request applies the configuration and then the plugins, or one plugin alone", async () => {
  const { server, services } = await start();
  await sendJson(server, "POST", "/v1/plugins/reload", {});
  await sendJson(server, "POST", "/v1/plugins/reload", { plugin: "greeter" });
  expect(services.calls).toEqual([
    { name: "reloadConfig", input: null },
    { name: "reload", input: null },
    { name: "reload", input: "greeter" },
  ]);
});
