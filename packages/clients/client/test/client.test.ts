import { AegisError } from "@aegis/contract/errors.ts";
import { newId } from "@aegis/contract/ids.ts";
import { readSources, staticClosure } from "@aegis/test/helpers/architecture.ts";
import { message } from "@aegis/test/helpers/rows.ts";
import { expect, test } from "vitest";
import { sessionA } from "../../../base/events/test/memory-events.ts";
import { start, token } from "../../../daemon/http/test/start.ts";
import { createClient } from "../src/client.ts";

async function connected() {
  const running = await start();
  return { ...running, client: createClient({ url: `${running.server.url}/`, token }) };
}

test("calls carry path, query and body, and give the typed answer", async () => {
  const { client, services } = await connected();
  expect(await client.call("health")).toEqual({ ok: true, name: "aegis" });
  const { receipt } = await client.call("sendMessage", { path: { session: "lucid-hertz" }, body: { text: "hi" } });
  expect(receipt.outcome).toBe("landed");
  const { sessions } = await client.call("listSessions", { query: { closed: true } });
  expect(sessions[0]?.handle).toBe("lucid-hertz");
  const id = newId("msg", 1);
  services.messages.set(id, message(sessionA, { id }));
  expect((await client.call("cancelMessage", { path: { message: id } })).message.id).toBe(id);
  await client.call("shutdown");
  expect(services.calls.map(({ name }) => name)).toEqual(["admit", "shutdown"]);
});

test("a path is escaped, so that it names one session and nothing else", async () => {
  const { client } = await connected();
  await expect(client.call("getSession", { path: { session: "../status?x=1#/é" } })).rejects.toMatchObject({
    code: "not_found",
    message: "no session '../status?x=1#/é'",
  });
});

test("errors arrive as they left", async () => {
  const { client, server } = await connected();
  const error: unknown = await client.call("getSession", { path: { session: "nobody" } }).catch((e: unknown) => e);
  expect(error).toBeInstanceOf(AegisError);
  expect(error).toMatchObject({ code: "not_found", status: 404, hint: "did you mean lucid-hertz?" });
  const stranger = createClient({ url: server.url, token: "wrong" });
  await expect(stranger.call("status")).rejects.toMatchObject({ code: "unauthorized" });
});

test("no daemon, a stranger in its place and a cut answer are told as such", async () => {
  const { client, server } = await connected();
  await server.close();
  await expect(client.call("status")).rejects.toMatchObject({ code: "unavailable", hint: expect.any(String) });
  const answering = (body: string, status: number) =>
    createClient({ url: "http://x", token, fetch: async () => new Response(body, { status }) });
  await expect(answering("<html>", 502).call("status")).rejects.toMatchObject({ code: "unavailable" });
  await expect(answering("<html>", 404).call("status")).rejects.toMatchObject({ code: "not_found" });
  await expect(answering('{"error":', 200).call("status")).rejects.toMatchObject({ code: "unavailable" });
});

test("an aborted call rejects with the signal's reason", async () => {
  const { client } = await connected();
  const reason = new Error("enough");
  await expect(client.call("status", { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
});

test("the client's files load neither zod nor Node, directly or through others", () => {
  const files = readSources();
  const closure = [...staticClosure(files, "client/browser.ts")];
  expect(closure).toEqual(
    expect.arrayContaining(["events", "reduce", "sse-parser", "wait"].map((name) => `client/${name}.ts`)),
  );
  const known = new Set(files.map(({ path }) => path));
  expect(closure.filter((path) => !known.has(path))).toEqual([]);
});
