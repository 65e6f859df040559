import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createInterface } from "node:readline";
import { PassThrough } from "node:stream";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { TerminalScreen } from "../../src/cli/chat/screen.ts";
import { quickFetch } from "../../src/cli/quick-fetch.ts";
import { startFolder, type Terminal } from "../../src/cli/terminal.ts";

describe("the folder a command works in", () => {
  it("is where npm was called, but only for what npm itself started", () => {
    const env = { INIT_CWD: "/home/me/app", npm_package_json: "/opt/aegis/package.json" };
    expect(startFolder("/opt/aegis", env)).toBe("/home/me/app");
    expect(startFolder("/elsewhere", env)).toBe("/elsewhere");
    expect(startFolder("/opt/aegis", {})).toBe("/opt/aegis");
  });
});

describe("a line that is being typed", () => {
  function screen() {
    // Node edits no line on a terminal that says it is dumb, as that of a build machine may.
    vi.stubEnv("TERM", "xterm");
    onTestFinished(() => void vi.unstubAllEnvs());
    const input = new PassThrough();
    const output = Object.assign(new PassThrough(), { columns: 80 });
    let shown = "";
    output.on("data", (chunk: Buffer) => {
      shown += chunk.toString();
    });
    const reader = createInterface({ input, output, terminal: true });
    onTestFinished(() => reader.close());
    const cx = { stdout: output, write: (text: string) => output.write(text) } as unknown as Terminal;
    const view = new TerminalScreen(cx, reader);
    view.setPrompt("> ");
    const take = () => {
      const taken = shown;
      shown = "";
      return taken;
    };
    return { view, reader, take };
  }

  it("stays below what comes in, whole lines at a time", () => {
    const { view, reader, take } = screen();
    view.show();
    view.setBusy(true);
    reader.write("typed");
    take();
    view.text("half a line");
    expect(take()).toBe("");
    view.text(", now whole\n");
    const shown = take();
    expect(shown).toContain("half a line, now whole\n");
    expect(shown.indexOf("> typed")).toBeGreaterThan(shown.indexOf("whole"));
  });

  it("hides while an answer streams and comes back after it", () => {
    const { view, take } = screen();
    view.show();
    view.setBusy(true);
    take();
    view.text("one ");
    view.text("two");
    expect(take()).not.toContain("> ");
    view.setBusy(false);
    expect(take()).toMatch(/^\n.*> /s);
  });
});

describe("the quick fetch", () => {
  async function serve(status: number, body: string) {
    const seen: { url: string | undefined; headers: Record<string, unknown>; body: string }[] = [];
    const server = createServer((request, response) => {
      let text = "";
      request.on("data", (chunk) => (text += chunk));
      request.on("end", () => {
        seen.push({ url: request.url, headers: request.headers, body: text });
        response.writeHead(status).end(body);
      });
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void server.close());
    return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, seen, server };
  }

  it("gives status and body like the real one", async () => {
    const big = JSON.stringify({ text: "ü".repeat(300_000) });
    const { url, seen } = await serve(200, big);
    const headers = { authorization: "Bearer t", "content-type": "application/json" };
    const response = await quickFetch(`${url}/a?b=c`, { method: "POST", headers, body: '{"é":1}' });
    expect(response.ok).toBe(true);
    expect(await response.text()).toBe(big);
    expect(seen[0]).toMatchObject({
      url: "/a?b=c",
      body: '{"é":1}',
      headers: { authorization: "Bearer t", host: url.slice(7) },
    });
    const refused = await serve(401, '{"error":{}}');
    expect(await quickFetch(refused.url)).toMatchObject({ ok: false, status: 401 });
  });

  it("fails like the real one when nobody listens, nobody answers in time, or it is not HTTP", async () => {
    const { url, server } = await serve(200, "{}");
    await new Promise((resolve) => server.close(resolve));
    await expect(quickFetch(url)).rejects.toMatchObject({ message: "fetch failed", cause: { code: "ECONNREFUSED" } });
    const silent = createServer(() => {});
    await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => silent.closeAllConnections());
    onTestFinished(() => void silent.close());
    const address = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`;
    await expect(quickFetch(address, { signal: AbortSignal.timeout(20) })).rejects.toThrow("fetch failed");
  });
});
