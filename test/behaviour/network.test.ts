// @module-tag slow
import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import { inspectDaemonFile } from "@aegis/lib/daemon-file.ts";
import { expect, onTestFinished, test } from "vitest";
import { aegisProject } from "../helpers/aegis.ts";
import { type Daemon, testProject } from "../helpers/project.ts";
import { raw } from "../helpers/raw.ts";
import { waitUntil } from "../helpers/wait-until.ts";

test("a request with two Host headers is refused, by the API and by the plane", async () => {
  const project = await testProject();
  const daemon = await project.start();
  const own = new URL(daemon.file.url).host;
  for (const path of ["/health", "/v1/status", "/mcp"]) {
    for (const hosts of [
      [own, "evil.example"],
      ["evil.example", own],
    ]) {
      const answer = await exchange(daemon, [`GET ${path} HTTP/1.1`, ...hosts.map((host) => `Host: ${host}`)]);
      expect([path, answer.split("\r\n")[0]]).toEqual([path, "HTTP/1.1 400 Bad Request"]);
      expect(answer).toContain("more than one host header");
    }
  }
  expect((await raw(daemon, "/v1/status")).status).toBe(200);
});

test("more half-open connections than the daemon takes keep neither clients nor agents out", async () => {
  const project = await testProject();
  const daemon = await project.start();
  const sockets: Socket[] = [];
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
  });
  const heads = ["", "POST /mcp HTTP/1.1\r\nHost: "];
  for (let count = 0; count < 2_200; count++) {
    const socket = connect(portOf(daemon), "127.0.0.1");
    socket.on("error", () => {}).resume();
    sockets.push(socket);
    if (count % 100 === 0) await once(socket, "connect");
    socket.write(heads[count % heads.length] ?? "");
  }
  expect((await raw(daemon, "/v1/status")).status).toBe(200);
  expect((await raw(daemon, "/mcp", { method: "POST" })).status).toBe(401);
  await Promise.all(sockets.slice(0, 1_800).map((socket) => socket.closed || once(socket, "close")));
});

test("a daemon on port 80 is reached by every client that leaves the port out", async ({ skip }) => {
  const refusal = await cannotListen(80);
  if (refusal !== null) skip(`port 80 cannot be bound here: ${refusal}`);
  const project = await aegisProject();
  expect(await project.aegis("up", "--port", "80")).toMatchObject({ code: 0 });
  const state = await inspectDaemonFile(project.root, project.env.HOME ?? "");
  if (state.state !== "live") throw new Error(`the daemon is ${state.state}`);
  const daemon = { file: state.file };
  expect(daemon.file.url).toBe("http://127.0.0.1:80");
  const headers = { authorization: `Bearer ${daemon.file.token}` };
  expect((await fetch(`${daemon.file.url}/v1/status`, { headers })).status).toBe(200);
  for (const host of ["127.0.0.1", "localhost", "[::1]", "127.0.0.1:80"]) {
    expect([host, (await raw(daemon, "/v1/status", { headers: { host } })).status]).toEqual([host, 200]);
    expect([host, (await raw(daemon, "/mcp", { method: "POST", headers: { host } })).status]).toEqual([host, 401]);
  }
  for (const host of ["evil.example", "127.0.0.1:8080"]) {
    expect([host, (await raw(daemon, "/v1/status", { headers: { host } })).status]).toEqual([host, 403]);
  }
  expect(await project.aegis("run", "hello")).toMatchObject({
    code: 0,
    stdout: expect.stringContaining("Hello, I am"),
  });
  expect((await project.aegis("doctor")).stdout).toMatch(/port +80, in use by the daemon/);
});

test("SIGUSR1 opens no debugger", async () => {
  const project = await testProject();
  const daemon = await project.start();
  daemon.signal("SIGUSR1");
  await waitUntil("the signal has arrived", () => daemon.output.includes("no debugger is opened"));
  expect((await raw(daemon, "/v1/status")).status).toBe(200);
  daemon.signal("SIGTERM");
  expect(await daemon.exited).toEqual({ code: 0, signal: null, stderr: "" });
});

async function exchange(daemon: Daemon, head: string[]): Promise<string> {
  const socket = connect(portOf(daemon), "127.0.0.1");
  onTestFinished(() => void socket.destroy());
  const lines = [...head, `Authorization: Bearer ${daemon.file.token}`, "Connection: close"];
  socket.write(`${lines.join("\r\n")}\r\n\r\n`);
  let text = "";
  for await (const chunk of socket) text += String(chunk);
  return text;
}

function portOf({ file }: Daemon): number {
  return Number(new URL(file.url).port || 80);
}

function cannotListen(port: number): Promise<string | null> {
  const server = createServer();
  return new Promise((resolve) => {
    server.once("error", (error) => resolve(error.message));
    server.listen(port, "127.0.0.1", () => server.close(() => resolve(null)));
  });
}
