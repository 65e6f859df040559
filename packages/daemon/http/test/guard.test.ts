import { IncomingMessage } from "node:http";
import { Socket } from "node:net";
import { AegisError } from "@aegis/contract/errors.ts";
import { routes } from "@aegis/contract/routes.ts";
import { expect, test } from "vitest";
import { createGuard, isLoopback } from "../src/guard.ts";
import { errorOf, send, sendRaw, start, token } from "./start.ts";

const noBrowsers = { hasCookie: () => false, refusal: () => null };

test("every route but /health asks for the token", async () => {
  const { server, services } = await start();
  for (const { method, path } of Object.values(routes)) {
    const answer = await send(server, method, path, { headers: { authorization: null } });
    expect([path, answer.status]).toEqual([path, path === "/health" ? 200 : 401]);
  }
  expect(services.calls).toEqual([]);
});

test.each([
  ["none", null],
  ["a wrong one", "Bearer wrong"],
  ["a longer one", `Bearer ${token}x`],
  ["a prefix", `Bearer ${token.slice(0, -1)}`],
  ["another scheme", `Basic ${token}`],
  ["an empty one", "Bearer "],
])("the token is refused: %s", async (_, authorization) => {
  const { server, logged } = await start();
  const answer = await send(server, "GET", "/v1/status", { headers: { authorization } });
  expect(answer.status).toBe(401);
  expect(answer.headers["www-authenticate"]).toContain("Bearer");
  expect(errorOf(answer)).toMatchObject({ code: "unauthorized", hint: expect.stringContaining("daemon.json") });
  expect(logged.join()).not.toContain(token);
});

test.each(["/v1/status", "/health", "/v1/events/stream"])("a token in the URL of %s is refused", async (path) => {
  const { server } = await start();
  const answer = await send(server, "GET", `${path}?token=${token}`);
  expect(answer.status).toBe(401);
  expect(errorOf(answer).message).toContain("URL");
});

test.each([
  "evil.example",
  "127.0.0.1",
  "127.0.0.1:1",
  "localhost.:PORT",
  "0.0.0.0:PORT",
  "127.0.0.1.evil.example:PORT",
])("the Host %s is refused", async (host) => {
  const { server } = await start();
  for (const path of ["/health", "/v1/status", "/v1/events/stream"]) {
    const answer = await send(server, "GET", path, { headers: { host: host.replace("PORT", `${server.port}`) } });
    expect([path, answer.status]).toEqual([path, 403]);
  }
});

test("the loopback names and configured ones are accepted", async () => {
  const { server } = await start({ allowedHosts: ["aegis.example", "proxy.example:8443"] });
  const { port } = server;
  const accepted = [
    `127.0.0.1:${port}`,
    `LOCALHOST:${port}`,
    `[::1]:${port}`,
    "aegis.example",
    `aegis.example:${port}`,
    "proxy.example:8443",
  ];
  for (const host of accepted) {
    expect([host, (await send(server, "GET", "/health", { headers: { host } })).status]).toEqual([host, 200]);
  }
  const https = { host: "aegis.example", origin: "https://aegis.example" };
  expect((await send(server, "GET", "/health", { headers: https })).status).toBe(200);
});

test.each(["http://evil.example", "null", "https://127.0.0.1:PORT", "http://127.0.0.1:1", "http://localhost"])(
  "the Origin %s is refused",
  async (origin) => {
    const { server } = await start();
    const headers = { origin: origin.replace("PORT", `${server.port}`) };
    expect((await send(server, "GET", "/v1/status", { headers })).status).toBe(403);
    expect((await send(server, "GET", "/v1/events/stream", { headers })).status).toBe(403);
    expect((await send(server, "POST", "/v1/shutdown", { headers })).status).toBe(403);
  },
);

test("a server bound to all addresses still refuses the wildcard as a name", () => {
  for (const [bind, host] of [
    ["0.0.0.0", "0.0.0.0:80"],
    ["::", "[::]:80"],
  ] as const) {
    const guard = createGuard({
      token,
      bind,
      port: 80,
      allowedHosts: [],
      clientOf: () => null,
      browsers: noBrowsers,
    });
    const request = new IncomingMessage(new Socket());
    request.headers = { host, authorization: `Bearer ${token}` };
    expect(guard.access(request)).toMatchObject({ code: "forbidden" });
    request.headers.host = "127.0.0.1:80";
    expect(guard.access(request)).not.toBeInstanceOf(AegisError);
  }
});

test("on port 80 the names are accepted without the port, and on no other", () => {
  const cases: readonly [string, readonly string[]][] = [
    ["127.0.0.1", ["127.0.0.1", "localhost", "LOCALHOST", "[::1]", "127.0.0.1:80", "localhost:80", "[::1]:80"]],
    ["192.0.2.7", ["192.0.2.7", "192.0.2.7:80", "127.0.0.1"]],
    ["2001:db8::7", ["[2001:db8::7]", "[2001:db8::7]:80"]],
    ["0.0.0.0", ["127.0.0.1", "localhost"]],
  ];
  for (const [bind, hosts] of cases) {
    for (const host of hosts) {
      expect([bind, host, refusalOf({ bind, port: 80 }, { host })]).toEqual([bind, host, null]);
      if (!/:80$/.test(host)) {
        expect([host, refusalOf({ bind, port: 8080 }, { host })]).toEqual([host, "forbidden"]);
        expect(refusalOf({ bind, port: 80 }, { host, origin: `http://${host}` })).toBeNull();
        expect(refusalOf({ bind, port: 80 }, { host, origin: `https://${host}` })).toBe("forbidden");
      }
    }
  }
  for (const host of ["evil.example", "0.0.0.0", "127.0.0.1:8080", "localhost.", ""]) {
    expect([host, refusalOf({ bind: "0.0.0.0", port: 80 }, { host })]).toEqual([host, "forbidden"]);
  }
});

function refusalOf(at: { bind: string; port: number }, headers: Record<string, string>): string | null {
  const request = new IncomingMessage(new Socket());
  request.url = "/v1/status";
  request.headers = { authorization: `Bearer ${token}`, ...headers };
  const guard = createGuard({ token, allowedHosts: [], clientOf: () => null, browsers: noBrowsers, ...at });
  const access = guard.access(request);
  return access instanceof AegisError ? access.code : null;
}

test.each([
  ["Host", ["Host: HERE", "Host: evil.example"]],
  ["Host, the foreign one first", ["Host: evil.example", "Host: HERE"]],
  ["Host, twice the same", ["Host: HERE", "hOST: HERE"]],
  ["Origin", ["Host: HERE", "Origin: http://HERE", "Origin: http://evil.example"]],
  ["Authorization", ["Host: HERE", "Authorization: Bearer wrong"]],
  ["Content-Type", ["Host: HERE", "Content-Type: application/json", "Content-Type: text/plain"]],
  ["Content-Length", ["Host: HERE", "Content-Length: 2", "Content-Length: 3"]],
  ["Content-Length beside chunks", ["Host: HERE", "Content-Length: 2", "Transfer-Encoding: chunked"]],
])("a header that is sent twice is refused: %s", async (_, lines) => {
  const { server, services } = await start();
  server.mount("/mcp", () => new Response("reached"));
  for (const line of ["GET /health", "GET /v1/status", "POST /v1/shutdown", "POST /mcp"]) {
    const head = [`${line} HTTP/1.1`, `Authorization: Bearer ${token}`, "Connection: close", ...lines];
    const text = `${head.join("\r\n").replaceAll("HERE", `127.0.0.1:${server.port}`)}\r\n\r\n`;
    expect([line, (await sendRaw(server, text)).split("\r\n")[0]]).toEqual([line, "HTTP/1.1 400 Bad Request"]);
  }
  expect(services.calls).toEqual([]);
});

test.each([
  ["http://evil.example/v1/status", 403],
  ["http://user@HERE/v1/status", 403],
  ["http://HERE.evil.example/health", 403],
  ["http:///v1/status", 403],
  ["https://HERE/v1/status", 400],
  ["file:///etc/passwd", 400],
  ["*", 400],
  ["http://HERE/v1/status", 200],
  ["HTTP://LOCALHOST:PORT/v1/status?", 200],
  ["//evil.example/v1/status", 404],
])("the target %s gives %i", async (target, status) => {
  const { server } = await start();
  const here = `127.0.0.1:${server.port}`;
  const head = [`GET ${target} HTTP/1.1`, "Host: HERE", `Authorization: Bearer ${token}`, "Connection: close"];
  const text = `${head.join("\r\n").replaceAll("HERE", here).replace("PORT", `${server.port}`)}\r\n\r\n`;
  expect((await sendRaw(server, text)).split(" ")[1]).toBe(`${status}`);
});

test("an absolute target reaches a mounted path, and a foreign one does not", async () => {
  const { server } = await start();
  server.mount("/mcp", (request) => new Response(new URL(request.url).pathname));
  const post = (target: string) =>
    sendRaw(server, `POST ${target} HTTP/1.1\r\nHost: 127.0.0.1:${server.port}\r\nConnection: close\r\n\r\n`);
  expect(await post(`http://127.0.0.1:${server.port}/mcp`)).toMatch(/^HTTP\/1\.1 200 [\s\S]*\/mcp$/);
  expect(await post("http://evil.example/mcp")).toMatch(/^HTTP\/1\.1 403 /);
});

test("our own Origin is accepted", async () => {
  const { server } = await start();
  const headers = { origin: `http://localhost:${server.port}` };
  expect((await send(server, "GET", "/v1/status", { headers })).status).toBe(200);
});

function upgradeRequest(port: number, lines: string[] = [], path = "/v1/events/stream"): string {
  const head = [`GET ${path} HTTP/1.1`, "Connection: Upgrade", "Upgrade: websocket"];
  if (!lines.some((line) => line.startsWith("Host:"))) head.push(`Host: 127.0.0.1:${port}`);
  return `${[...head, ...lines].join("\r\n")}\r\n\r\n`;
}

test("an upgrade is guarded as any request, and never served nor left hanging", async () => {
  const { server } = await start();
  const upgrade = async (...lines: string[]) =>
    (await sendRaw(server, upgradeRequest(server.port, lines))).split("\r\n")[0];
  const authorization = `Authorization: Bearer ${token}`;
  expect(await upgrade()).toBe("HTTP/1.1 401 Unauthorized");
  expect(await upgrade(authorization, "Origin: http://evil.example")).toBe("HTTP/1.1 403 Forbidden");
  expect(await upgrade(authorization, "Host: evil.example")).toBe("HTTP/1.1 403 Forbidden");
  expect(await upgrade(authorization)).toBe("HTTP/1.1 404 Not Found");
  const inUrl = await sendRaw(server, upgradeRequest(server.port, [], `/health?token=${token}`));
  expect(inUrl).toContain("401 Unauthorized");
});

test("an offer of h2c is passed over", async () => {
  const { server } = await start();
  const answer = await send(server, "GET", "/v1/status", { headers: { connection: "Upgrade, close", upgrade: "h2c" } });
  expect(answer.status).toBe(200);
});

test("only loopback is bound unless remote access is allowed, and never without a token", async () => {
  for (const bind of ["0.0.0.0", "::", "192.168.1.5", "example.com", "128.0.0.1"]) {
    await expect(start({ bind })).rejects.toThrow(AegisError);
  }
  await expect(start({ bind: "0.0.0.0", allowRemote: true, token: "" })).rejects.toThrow("needs a token");
  await expect(start({ token: "" })).rejects.toThrow("needs a token");
  expect(["127.0.0.1", "127.8.9.1", "::1", "localhost"].every(isLoopback)).toBe(true);
});

test("a taken port is told as such", async () => {
  const { server } = await start();
  await expect(start({ port: server.port })).rejects.toMatchObject({ code: "conflict" });
});

test("a mounted handler authenticates itself, behind the checks of Host, Origin and size", async () => {
  const { server } = await start({ limits: { bodyBytes: 10 } });
  const unmount = server.mount("/mcp", async (_, text) => new Response(`got ${await text()}`));
  const post = (headers: Record<string, string | null>, body = "hi") => send(server, "POST", "/mcp", { headers, body });
  expect(await post({ authorization: null })).toMatchObject({ status: 200, text: "got hi" });
  expect(await post({ authorization: null, host: "evil.example" })).toMatchObject({ status: 403 });
  expect(await post({ authorization: null, origin: "http://evil.example" })).toMatchObject({ status: 403 });
  expect(await post({}, "more than ten bytes")).toMatchObject({ status: 413 });
  expect(await post({ "transfer-encoding": "chunked" }, "more than ten bytes")).toMatchObject({ status: 413 });
  expect((await send(server, "POST", "/mcp/x", { headers: { authorization: null } })).status).toBe(401);
  expect(() => server.mount("/mcp", () => new Response())).toThrow("served already");
  unmount();
  expect((await post({})).status).toBe(404);
});
