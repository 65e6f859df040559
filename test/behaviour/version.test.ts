/** The version is written in package.json and nowhere else; everything that reports one reads it from there. */
import { readFileSync } from "node:fs";
import { Client as McpClient, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { expect, it, onTestFinished } from "vitest";
import { aegisProject } from "../helpers/aegis.ts";
import { readSources } from "../helpers/architecture.ts";
import { readPlace, withPlaneAgent } from "../helpers/plane-agent.ts";
import { testProject } from "../helpers/project.ts";
import { createSession } from "../helpers/talk.ts";

const { version } = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8")) as {
  version: string;
};

it("is the same in the command line, the daemon's file, the status, the OpenAPI document and the MCP endpoint", {
  tags: "slow",
}, async () => {
  const project = await testProject(withPlaneAgent);
  const { client, file } = await project.start();
  await createSession(client, { agent: "remote", prompt: "show version" });
  const { authorization } = await readPlace(project.dir, "version");
  const mcp = new McpClient({ name: "test", version: "1.0.0" });
  onTestFinished(() => mcp.close());
  const url = new URL(`${file.url}/mcp`);
  await mcp.connect(new StreamableHTTPClientTransport(url, { requestInit: { headers: { authorization } } }));
  const openapi = (await client.call("openapi")) as { info: { version: string } };
  const { aegis } = await aegisProject();

  expect({
    "aegis --version": (await aegis("--version")).stdout.trim(),
    "aegis -V": (await aegis("-V")).stdout.trim(),
    "daemon.json": file.version,
    "/v1/status": (await client.call("status")).version,
    "/openapi.json": openapi.info.version,
    "MCP serverInfo": mcp.getServerVersion()?.version,
  }).toEqual({
    "aegis --version": version,
    "aegis -V": version,
    "daemon.json": version,
    "/v1/status": version,
    "/openapi.json": version,
    "MCP serverInfo": version,
  });
});

it("is written as a literal nowhere in the source", () => {
  const files = readSources();
  const literal = /\bversion: "\d+\.\d+\.\d+"/;
  // The context that `aegis/testing` makes up for a hook names a version that no release has.
  const found = files.filter(({ path, text }) => literal.test(text) && path !== "plugin-api/testing/contexts.ts");
  expect(found.map(({ path }) => path)).toEqual([]);
});

it("is also the version of the lockfile", () => {
  const lock = JSON.parse(readFileSync(new URL("../../package-lock.json", import.meta.url), "utf8")) as {
    version: string;
    packages: Record<string, { version: string }>;
  };
  expect([lock.version, lock.packages[""]?.version]).toEqual([version, version]);
});
