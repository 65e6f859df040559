/** The fetch tool reads public pages and reaches nothing private. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, onTestFinished, test } from "vitest";
import { project } from "./project.ts";

describe("fetch", () => {
  async function site(answer: (path: string) => { status?: number; headers?: Record<string, string>; body?: string }) {
    const server = createServer((request, response) => {
      const { status = 200, headers = {}, body = "" } = answer(request.url ?? "");
      response.writeHead(status, headers).end(body);
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void server.close());
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  test.each([
    "http://127.0.0.1:9/",
    "http://localhost:9/",
    "http://[::1]:9/",
    "http://[::ffff:127.0.0.1]:9/",
    "http://169.254.169.254/latest/meta-data",
    "http://10.0.0.1/",
    "http://0x7f.1/",
    "http://2130706433/",
  ])("does not reach %s", async (url) => {
    const { use } = await project();
    expect(await use("fetch", { url })).toMatchObject({
      is_error: true,
      output: expect.stringContaining("private network"),
    });
  });

  test("takes only http and https", async () => {
    const { use } = await project();
    expect((await use("fetch", { url: "file:///etc/passwd" })).is_error).toBe(true);
  });

  test("gives the text of a page, follows redirects, caps and refuses", async () => {
    const { use } = await project({}, { allowPrivateFetch: true });
    const pages: Record<string, { status?: number; headers?: Record<string, string>; body?: string }> = {
      "/": {
        headers: { "content-type": "text/html" },
        body: "<html><head><title>T &amp; C</title><style>p{}</style></head><body><h1>Head</h1><p>One&nbsp;two</p><script>bad()</script><ul><li>x</ul></body></html>",
      },
      "/moved": { status: 302, headers: { location: "/" } },
      "/loop": { status: 302, headers: { location: "/loop" } },
      "/file": { status: 302, headers: { location: "file:///etc/passwd" } },
      "/big": { body: "y".repeat(100_000) },
      "/binary": { body: "a\0b" },
      "/gone": { status: 404, body: "gone" },
    };
    const base = await site((path) => pages[path] ?? {});
    expect((await use("fetch", { url: `${base}/` })).output).toBe("T & C\n\n# Head\nOne two\n\n- x");
    expect((await use("fetch", { url: `${base}/moved` })).output).toContain("# Head");
    expect((await use("fetch", { url: `${base}/loop` })).output).toContain("redirects more than");
    expect((await use("fetch", { url: `${base}/file` })).output).toContain("only http and https");
    expect((await use("fetch", { url: `${base}/big` })).output).toMatch(/\[cut: 48800 more bytes/);
    expect((await use("fetch", { url: `${base}/binary` })).output).toContain("binary");
    expect(await use("fetch", { url: `${base}/gone` })).toEqual({ output: "HTTP 404\ngone", is_error: true });
  });
});
