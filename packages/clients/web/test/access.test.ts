/** Getting in: one-time codes, cookies with keys, and everything that a hostile page could try. */
import { request as httpRequest, type IncomingHttpHeaders } from "node:http";
import { AegisError } from "@aegis/contract/errors.ts";
import { WebAccess } from "@aegis/http/web/access.ts";
import { pagePolicy } from "@aegis/http/web/files.ts";
import { sharedDaemon, testProject } from "@aegis/test/helpers/project.ts";
import { describe, expect, it } from "vitest";
import { webProject } from "./web-project.ts";

type Answer = { status: number; headers: IncomingHttpHeaders; text: string };

/** One request with exactly these headers, as no browser would send it. */
function send(
  url: string,
  path: string,
  options: { method?: string; headers?: Record<string, string>; body?: string } = {},
) {
  const { method = "GET", headers = {}, body } = options;
  return new Promise<Answer>((resolve, reject) => {
    const { hostname: host, port } = new URL(url);
    const request = httpRequest({ host, port, path, method, headers, agent: false }, async (response) => {
      const chunks: Buffer[] = [];
      for await (const chunk of response) chunks.push(chunk as Buffer);
      resolve({ status: response.statusCode ?? 0, headers: response.headers, text: Buffer.concat(chunks).toString() });
    });
    request.on("error", reject);
    request.end(body);
  });
}

const json = { "content-type": "application/json" };

async function exchange(url: string, code: string, headers: Record<string, string> = {}): Promise<Answer> {
  return await send(url, "/web/login", {
    method: "POST",
    headers: { ...json, ...headers },
    body: JSON.stringify({ code }),
  });
}

describe("a browser", () => {
  const shared = sharedDaemon(webProject);

  /** The headers of a page that is in. */
  async function loggedIn(): Promise<Record<string, string>> {
    const { client, file } = shared.daemon;
    const { code } = await client.call("createWebCode");
    const answer = await exchange(file.url, code);
    const cookie = String(answer.headers["set-cookie"]).split(";")[0] ?? "";
    return { cookie, "x-aegis-web": (JSON.parse(answer.text) as { key: string }).key };
  }

  it("exchanges a code once for a cookie that scripts cannot read", async () => {
    const { client, file } = shared.daemon;
    const { code, url } = await client.call("createWebCode");
    expect(url).toBe(`${file.url}/#code=${code}`);
    const first = await exchange(file.url, code);
    expect(first.status).toBe(200);
    const cookie = String(first.headers["set-cookie"]);
    expect(cookie).toMatch(
      new RegExp(`^aegis_${new URL(file.url).port}=[\\w-]{22}; HttpOnly; SameSite=Strict; Path=/`),
    );
    expect(first.text).not.toContain(file.token);
    expect((await exchange(file.url, code)).status).toBe(401);
    expect((await exchange(file.url, "wrong")).status).toBe(401);
  });

  it("reaches the API with its cookie and its key, and with neither alone", async () => {
    const { url } = shared.daemon.file;
    const headers = await loggedIn();
    expect((await send(url, "/v1/status", { headers })).status).toBe(200);
    expect((await send(url, "/v1/status", { headers: { cookie: headers.cookie ?? "" } })).status).toBe(401);
    expect((await send(url, "/v1/status", { headers: { ...headers, "x-aegis-web": "wrong" } })).status).toBe(401);
    expect((await send(url, "/v1/status", { headers: { ...headers, cookie: "" } })).status).toBe(401);
    expect((await send(url, "/v1/status")).status).toBe(401);
  });

  it.each([
    ["a foreign Host", { host: "evil.test" }],
    ["a foreign Origin", { origin: "http://evil.test" }],
    ["the Origin null", { origin: "null" }],
    ["a page of another port", { "sec-fetch-site": "same-site" }],
    ["a page of another site", { "sec-fetch-site": "cross-site" }],
  ])("is refused with %s, although cookie and key are right", async (_, more) => {
    const { url } = shared.daemon.file;
    const headers: Record<string, string> = { ...(await loggedIn()), ...json, ...more };
    expect((await send(url, "/v1/status", { headers })).status).toBe(403);
    const changing = await send(url, "/v1/sessions", { method: "POST", headers, body: "{}" });
    expect(changing.status).toBe(403);
    const { code } = await shared.daemon.client.call("createWebCode");
    expect((await exchange(url, code, more)).status).toBe(403);
    // The refused request has not used up the code.
    expect((await exchange(url, code)).status).toBe(200);
  });

  it("cannot be sent by a form", async () => {
    const { url } = shared.daemon.file;
    const { cookie = "" } = await loggedIn();
    const form = { cookie, "content-type": "application/x-www-form-urlencoded" };
    expect((await send(url, "/v1/sessions", { method: "POST", headers: form, body: "prompt=x" })).status).toBe(401);
    const { code } = await shared.daemon.client.call("createWebCode");
    const login = { method: "POST", headers: { "content-type": "text/plain" }, body: JSON.stringify({ code }) };
    expect((await send(url, "/web/login", login)).status).toBe(415);
    expect((await send(url, "/web/login")).status).toBe(405);
  });

  it("cannot give access to another browser", async () => {
    const { url } = shared.daemon.file;
    const answer = await send(url, "/v1/web/codes", {
      method: "POST",
      headers: { ...(await loggedIn()), ...json },
      body: "{}",
    });
    expect(answer.status).toBe(403);
  });

  it("loses its access and its open stream when it is revoked", async () => {
    const { client, file } = shared.daemon;
    const headers = await loggedIn();
    const { browsers } = await client.call("listBrowsers");
    const [newest] = browsers;
    if (newest === undefined) throw new Error("no browser is listed");
    const opened = Promise.withResolvers<void>();
    const ended = new Promise<void>((resolve) => {
      const request = httpRequest(`${file.url}/v1/events/stream`, { headers, agent: false }, (response) => {
        response.on("data", () => opened.resolve());
        response.on("error", () => resolve());
        response.on("close", () => resolve());
      });
      request.on("error", () => resolve());
      request.end();
    });
    await opened.promise;
    await client.call("revokeBrowser", { path: { browser: newest.id } });
    await ended;
    expect((await send(file.url, "/v1/status", { headers })).status).toBe(401);
  });

  it("gets the app without a cookie, under a policy that allows nothing foreign", async () => {
    const { url } = shared.daemon.file;
    const page = await send(url, "/", { headers: { "accept-encoding": "br" } });
    expect(page.status).toBe(200);
    expect(page.headers["content-security-policy"]).toBe(pagePolicy);
    expect(page.headers["content-encoding"]).toBe("br");
    expect(page.headers["cache-control"]).toBe("no-store");
    const plain = await send(url, "/");
    expect(plain.text).not.toMatch(/<script(?![^>]*src=)/);
    const script = /src="(\/assets\/[^"]+\.js)"/.exec(plain.text)?.[1] ?? "";
    const asset = await send(url, script, { headers: { origin: url } });
    expect(asset.headers).toMatchObject({
      "content-type": "text/javascript; charset=utf-8",
      "cache-control": "public, max-age=31536000, immutable",
      "x-content-type-options": "nosniff",
    });
    for (const path of ["/assets/../index.html", "/assets/%2e%2e/index.html", "/assets/none.js", `${script}.br`])
      expect((await send(url, path)).status, path).toBe(404);
    expect((await send(url, "/", { headers: { host: "evil.test" } })).status).toBe(403);
  });

  it("loads less than 80 kB of compressed script for the first page", async () => {
    const { url } = shared.daemon.file;
    const { text } = await send(url, "/");
    const scripts = [...text.matchAll(/(?:src|href)="(\/assets\/[^"]+\.js)"/g)].map(([, path = ""]) => path);
    let bytes = 0;
    for (const path of scripts) {
      const { headers } = await send(url, path, { headers: { "accept-encoding": "gzip" } });
      expect(headers["content-encoding"]).toBe("gzip");
      bytes += Number(headers["content-length"]);
    }
    expect(scripts.length).toBeGreaterThan(0);
    expect(bytes).toBeGreaterThan(5_000);
    expect(bytes).toBeLessThan(80_000);
  });
});

describe("access over restarts", () => {
  it("survives the daemon, which takes the same port again; a file of somebody else does not count", {
    tags: "slow",
  }, async () => {
    const project = await testProject(webProject);
    const first = await project.start();
    const { code } = await first.client.call("createWebCode");
    const answer = await exchange(first.file.url, code);
    const headers = {
      cookie: String(answer.headers["set-cookie"]).split(";")[0] ?? "",
      "x-aegis-web": (JSON.parse(answer.text) as { key: string }).key,
    };
    await first.kill();
    const second = await project.start();
    expect(second.file.url).toBe(first.file.url);
    expect((await send(second.file.url, "/v1/status", { headers })).status).toBe(200);
    await second.kill();
    const browsers = [{ id: "web_x", user_agent: "", created_at: 1, last_used_at: Date.now(), cookie: "0", key: "0" }];
    await project.write(".aegis/state/web.json", JSON.stringify({ port: 1, browsers, proof: "0".repeat(64) }));
    const third = await project.start();
    expect((await third.client.call("listBrowsers")).browsers).toEqual([]);
    expect(third.output).toContain("web.json was not written by an Aegis of this user");
  });
});

describe("codes", () => {
  function access() {
    const time = { now: 1_000_000 };
    const written: unknown[] = [];
    const store = { read: () => [], write: async (records: unknown) => void written.push(structuredClone(records)) };
    return { time, written, access: new WebAccess({ clock: { now: () => time.now }, store }) };
  }
  const failure = async (attempt: Promise<unknown>) => ((await attempt.catch((error) => error)) as AegisError).code;

  it("expire after a minute", async () => {
    const { time, access: web } = access();
    const { code, expires_at } = web.newCode();
    time.now = expires_at - 1;
    const other = web.newCode();
    time.now = expires_at;
    expect(await failure(web.login(code, ""))).toBe("unauthorized");
    expect(await web.login(other.code, "")).toMatchObject({ key: expect.any(String) });
  });

  it("work for one of two requests at once, and only hashes are stored", async () => {
    const { written, access: web } = access();
    const { code } = web.newCode();
    const outcomes = await Promise.allSettled([web.login(code, "A"), web.login(code, "B")]);
    expect(outcomes.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
    const [done] = outcomes.filter((outcome) => outcome.status === "fulfilled");
    const text = JSON.stringify(written);
    expect(text).not.toContain(done?.value.cookie);
    expect(text).not.toContain(done?.value.key);
  });

  it("work after any number of wrong ones, so that no program can lock the person out", async () => {
    const { access: web } = access();
    const { code } = web.newCode();
    for (let index = 0; index < 100; index++) expect(await failure(web.login("wrong", ""))).toBe("unauthorized");
    expect(await web.login(code, "")).toMatchObject({ key: expect.any(String) });
  });

  it("are open five at a time: the oldest makes room", async () => {
    const { access: web } = access();
    const codes = Array.from({ length: 6 }, () => web.newCode().code);
    expect(await failure(web.login(codes[0] ?? "", ""))).toBe("unauthorized");
    expect(await web.login(codes[1] ?? "", "")).toMatchObject({ key: expect.any(String) });
  });

  it("give a cookie that ends after thirty days without use", async () => {
    const { time, access: web } = access();
    const { cookie, key } = await web.login(web.newCode().code, "");
    time.now += 29 * 86_400_000;
    expect(web.require(cookie, key)).toMatch(/^web_/);
    time.now += 29 * 86_400_000;
    expect(web.require(cookie, key)).toMatch(/^web_/);
    time.now += 31 * 86_400_000;
    expect(() => web.require(cookie, key)).toThrow(AegisError);
  });
});
