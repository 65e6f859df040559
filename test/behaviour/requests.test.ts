import { readdir, readFile, stat } from "node:fs/promises";
import { type MessageId, newId } from "@aegis/contract/ids.ts";
import { describe, expect, it } from "vitest";
import { sharedDaemon } from "../helpers/project.ts";
import { deafSocket, errorOf, post, raw } from "../helpers/raw.ts";
import {
  answerTo,
  createSession,
  endings,
  eventsOf,
  hasSaid,
  message,
  messages,
  openAsk,
  refusal,
  say,
  talk,
} from "../helpers/talk.ts";
import { waitUntil } from "../helpers/wait-until.ts";

const shared = sharedDaemon();
const megabyte = 1024 * 1024;

/** The daemon must be as able as before. */
async function expectHealthy(): Promise<void> {
  const session = await createSession(shared.daemon.client);
  expect(await talk(shared.daemon.client, session.id, "hi")).toBe("you said: hi");
}

/** Following the events of large messages would take most of the time of these tests. */
async function isDone(id: MessageId): Promise<void> {
  await waitUntil(`${id} is answered`, async () => (await message(shared.daemon.client, id)).status === "done");
}

describe("messages that cannot be taken", () => {
  it("one of 10 MB is refused with its limit, one just below it is answered", { tags: "slow" }, async () => {
    const { client } = shared.daemon;
    const session = await createSession(client);
    const error = await refusal(say(client, session.id, "x".repeat(10 * megabyte)));
    expect(error).toMatchObject({ code: "too_large", status: 413 });
    expect(error.message).toContain(String(8 * megabyte));
    const large = "y".repeat(8 * megabyte - 100);
    const receipt = await say(client, session.id, large);
    await isDone(receipt.message);
    const { turns } = await client.call("listTurns", { path: { session: session.id } });
    // The answer is longer than a turn stores, and says so.
    const [text = ""] = turns.map((turn) => turn.text);
    expect(text.startsWith(`you said: ${"y".repeat(megabyte - 100)}`)).toBe(true);
    expect(text.slice(-300)).toContain("overflow");
    expect(await messages(client, session.id)).toHaveLength(1);
  });

  it("a body larger than the server reads is refused, also without a length", async () => {
    const { daemon } = shared;
    const body = JSON.stringify({ text: "x".repeat(13 * megabyte) });
    const path = `/v1/sessions/${(await createSession(daemon.client)).id}/messages`;
    expect(errorOf(await post(daemon, path, body)).code).toBe("too_large");
    const chunked = await raw(daemon, path, {
      method: "POST",
      headers: { "content-type": "application/json", "transfer-encoding": "chunked" },
      body,
    });
    expect(chunked.status).toBe(413);
    await expectHealthy();
  });

  it.each([
    ["NUL", '{"text":"a\\u0000b"}', "NUL"],
    ["half a surrogate pair", '{"text":"\\ud800"}', "surrogate"],
    ["invalid UTF-8", Buffer.from([...Buffer.from('{"text":"'), 0xff, 0xfe, ...Buffer.from('"}')]), "UTF-8"],
    ["nothing", '{"text":""}', "text"],
    ["blanks only", '{"text":"  \\n "}', "empty"],
    ["no text", "{}", "text"],
    ["a field nobody knows", '{"txt":"a","text":"b"}', "txt"],
    ["broken JSON", '{"text":', "JSON"],
    ["an id that is none", '{"text":"a","id":"msg_1"}', "msg_"],
  ])("%s", async (_, body, words) => {
    const { daemon } = shared;
    const session = await createSession(daemon.client);
    const answer = await post(daemon, `/v1/sessions/${session.id}/messages`, body);
    expect(errorOf(answer)).toMatchObject({ code: "invalid", message: expect.stringContaining(words) });
    expect(await messages(daemon.client, session.id)).toEqual([]);
  });

  it("an id that was used: the same message adds nothing, another one is refused", async () => {
    const { client } = shared.daemon;
    const session = await createSession(client);
    const id = newId("msg", Date.now());
    const receipts = await Promise.all(Array.from({ length: 20 }, () => say(client, session.id, "once", { id })));
    expect(receipts.filter((receipt) => !receipt.duplicate)).toHaveLength(1);
    await answerTo(client, { message: id, session: session.id });
    expect(await refusal(say(client, session.id, "twice", { id }))).toMatchObject({ code: "conflict" });
    const other = await createSession(client);
    expect(await refusal(say(client, other.id, "once", { id }))).toMatchObject({ code: "conflict" });
    expect(await messages(client, session.id)).toHaveLength(1);
    expect(await endings(client, session.id)).toEqual(["completed"]);
  });

  it("a repeated interrupt cuts nothing a second time", async () => {
    const { client } = shared.daemon;
    const session = await createSession(client);
    await say(client, session.id, "hold never");
    await hasSaid(client, session.id, "holding never");
    const id = newId("msg", Date.now());
    const first = await say(client, session.id, "hold forever", { id, interrupt: true });
    expect(first.text).toBe(`interrupted & landed at ${session.handle}`);
    await hasSaid(client, session.id, "holding forever");
    expect(await say(client, session.id, "hold forever", { id, interrupt: true })).toMatchObject({ duplicate: true });
    expect(await endings(client, session.id)).toEqual(["cancelled", "running"]);
    await client.call("closeSession", { path: { session: session.id } });
    expect(await endings(client, session.id)).toEqual(["cancelled", "cancelled"]);
  });
});

describe("sessions that are not there", () => {
  it("an unknown handle is answered with the nearest one", async () => {
    const { client } = shared.daemon;
    await createSession(client, { handle: "wise-poincare" });
    const error = await refusal(say(client, "wise-poincarre", "hi"));
    expect(error).toMatchObject({ code: "not_found", status: 404 });
    expect(error.message).toContain("wise-poincare");
    const unknown = newId("ses", Date.now());
    for (const call of [
      () => client.call("getSession", { path: { session: unknown } }),
      () => client.call("history", { path: { session: unknown } }),
      () => client.call("closeSession", { path: { session: unknown } }),
      () => client.call("interruptSession", { path: { session: unknown } }),
      () => client.call("listTurns", { path: { session: "../../etc/passwd" } }),
      () => client.call("getTurn", { path: { turn: newId("trn", Date.now()) } }),
      () => client.call("getMessage", { path: { message: newId("msg", Date.now()) } }),
      () => client.call("cancelMessage", { path: { message: newId("msg", Date.now()) } }),
    ]) {
      expect(await refusal(call())).toMatchObject({ code: "not_found" });
    }
  });

  it("a closed one takes nothing more, and closing it again says so", async () => {
    const { client } = shared.daemon;
    const session = await createSession(client, { handle: "shut-turing" });
    await say(client, session.id, "hold never");
    await hasSaid(client, session.id, "holding never");
    const waiting = await say(client, session.id, "never read");
    const path = { session: session.id };
    const closed = await client.call("closeSession", { path });
    expect(closed.refused).toEqual([waiting.message]);
    expect(closed.session).toMatchObject({ state: "closed", pending: 0 });
    for (const call of [
      () => say(client, session.id, "hi"),
      () => client.call("closeSession", { path }),
      () => client.call("interruptSession", { path }),
      () => client.call("updateSession", { path, body: { title: "x" } }),
      () => client.call("updateSession", { path, body: { handle: "other-turing" } }),
    ]) {
      expect(await refusal(call())).toMatchObject({ code: "closed", status: 410 });
    }
    expect(await refusal(client.call("cancelMessage", { path: { message: waiting.message } }))).toMatchObject({
      code: "conflict",
    });
    expect(await endings(client, session.id)).toEqual(["cancelled"]);
    expect((await eventsOf(client, "session.closed", session.id)).length).toBe(1);
    const again = await createSession(client, { handle: "shut-turing" });
    expect((await client.call("getSession", { path: { session: "shut-turing" } })).session.id).toBe(again.id);
  });

  it("an unknown agent is answered with the nearest one", async () => {
    const error = await refusal(createSession(shared.daemon.client, { agent: "devv" }));
    expect(error).toMatchObject({ code: "not_found" });
    expect(`${error.message} ${error.hint}`).toMatch(/dev\b/);
  });

  it("a handle that is taken or none is refused, at creation and as a new name", async () => {
    const { client } = shared.daemon;
    const before = (await client.call("listSessions")).sessions.length;
    await createSession(client, { handle: "only-one" });
    const session = await createSession(client);
    const rename = (handle: string) =>
      client.call("updateSession", { path: { session: session.id }, body: { handle } });
    expect(await refusal(createSession(client, { handle: "only-one" }))).toMatchObject({ code: "conflict" });
    expect(await refusal(rename("only-one"))).toMatchObject({ code: "conflict" });
    for (const handle of ["One", "1one", "a b", "ses_01", "", "x-y-z-w", `a-${"b".repeat(80)}`, "../x-y"]) {
      expect(await refusal(rename(handle))).toMatchObject({ code: "invalid" });
    }
    expect((await client.call("getSession", { path: { session: session.id } })).session.handle).toBe(session.handle);
    expect((await client.call("listSessions")).sessions).toHaveLength(before + 2);
  });

  it("a rename that fails leaves the title of the same request alone", async () => {
    const { client } = shared.daemon;
    await createSession(client, { handle: "taken-name" });
    const session = await createSession(client);
    const body = { handle: "taken-name", title: "half done" };
    await refusal(client.call("updateSession", { path: { session: session.id }, body }));
    expect((await client.call("getSession", { path: { session: session.id } })).session.title).toBe("");
  });
});

describe("cutting", () => {
  it("an idle session has nothing to interrupt", async () => {
    const { client } = shared.daemon;
    const session = await createSession(client);
    const path = { session: session.id };
    expect(await client.call("interruptSession", { path })).toEqual({ interrupted: false });
    expect(await talk(client, session.id, "hi")).toBe("you said: hi");
  });

  it("a waiting message can be taken back twice, one in progress cannot", async () => {
    const { client } = shared.daemon;
    const session = await createSession(client);
    const running = await say(client, session.id, "hold never");
    await hasSaid(client, session.id, "holding never");
    const waiting = await say(client, session.id, "not wanted");
    const cancel = (message: typeof waiting.message) => client.call("cancelMessage", { path: { message } });
    expect((await cancel(waiting.message)).message.status).toBe("cancelled");
    expect((await cancel(waiting.message)).message.status).toBe("cancelled");
    expect(await eventsOf(client, "message.cancelled", session.id)).toHaveLength(1);
    expect(await refusal(cancel(running.message))).toMatchObject({ code: "conflict" });
    const path = { session: session.id };
    expect(await client.call("interruptSession", { path })).toEqual({ interrupted: true });
    expect(await client.call("interruptSession", { path })).toEqual({ interrupted: false });
    expect(await endings(client, session.id)).toEqual(["cancelled"]);
    expect(await talk(client, session.id, "hi")).toBe("you said: hi");
  });
});

describe("answers to asks", () => {
  it("only the first valid one counts", async () => {
    const { client } = shared.daemon;
    const session = await createSession(client);
    const receipt = await say(client, session.id, "may you dance");
    const ask = await openAsk(client);
    const path = { ask: ask.id };
    const answer = (body: { choice?: string; digest?: string; text?: string }) =>
      client.call("answerAsk", { path, body });
    expect(await refusal(answer({ choice: "allow", digest: "0123456789abcdef" }))).toMatchObject({ code: "conflict" });
    expect(await refusal(answer({ choice: "alow" }))).toMatchObject({
      code: "invalid",
      message: expect.stringContaining("allow"),
    });
    expect(await refusal(answer({ text: "sure" }))).toMatchObject({ code: "invalid" });
    const many = await Promise.allSettled(["deny", "allow", "deny"].map((choice) => answer({ choice })));
    expect(many.filter((one) => one.status === "fulfilled")).toHaveLength(1);
    expect(await refusal(answer({ choice: "allow" }))).toMatchObject({ code: "conflict" });
    const { answer: given } = (await client.call("getAsk", { path })).ask;
    expect(await answerTo(client, receipt)).toBe(given?.choice === "allow" ? "allowed: dance" : "denied: dance");
    expect(await eventsOf(client, "ask.settled", session.id)).toHaveLength(1);
    const unknown = { path: { ask: newId("ask", Date.now()) }, body: { choice: "allow" } };
    expect(await refusal(client.call("answerAsk", unknown))).toMatchObject({ code: "not_found" });
  });

  it("an interrupted turn takes its ask back", async () => {
    const { client } = shared.daemon;
    const session = await createSession(client);
    await say(client, session.id, "may you stay");
    const ask = await openAsk(client);
    await client.call("interruptSession", { path: { session: session.id } });
    await waitUntil("the ask is withdrawn", async () => (await client.call("listAsks")).asks.length === 0);
    const answer = client.call("answerAsk", { path: { ask: ask.id }, body: { choice: "allow" } });
    expect(await refusal(answer)).toMatchObject({ code: "conflict", message: expect.stringContaining("withdrawn") });
  });
});

describe("strangers", () => {
  const places = ["/v1/status", "/v1/events/stream", "/openapi.json"];

  it.each(places)("%s needs the right token", async (path) => {
    const { daemon } = shared;
    for (const authorization of [null, "Bearer wrong", `Basic ${daemon.file.token}`, `Bearer ${daemon.file.token}x`]) {
      expect((await raw(daemon, path, { headers: { authorization } })).status).toBe(401);
    }
  });

  it.each(places)("%s is closed to foreign names and pages, with the token too", async (path) => {
    const { daemon } = shared;
    expect((await raw(daemon, path, { headers: { host: "evil.example" } })).status).toBe(403);
    const origin = await raw(daemon, path, { headers: { origin: "http://evil.example" } });
    expect(origin.status).toBe(403);
    expect(origin.headers["access-control-allow-origin"]).toBeUndefined();
  });

  it("the token is written where only its owner reads it, and nowhere else", async () => {
    const { daemon, project } = shared;
    const state = `${project.dir}/.aegis/state`;
    expect((await stat(state)).mode & 0o777).toBe(0o700);
    expect((await stat(`${state}/daemon.json`)).mode & 0o777).toBe(0o600);
    expect(await readFile(`${state}/.gitignore`, "utf8")).toBe("*\n");
    const files = (await readdir(state, { recursive: true, withFileTypes: true })).filter((one) => one.isFile());
    for (const one of files) {
      if (one.name === "daemon.json") continue;
      expect((await readFile(`${one.parentPath}/${one.name}`)).includes(daemon.file.token), one.name).toBe(false);
    }
    expect(daemon.output).not.toContain(daemon.file.token);
  });
});

describe("a client that never reads its event stream", () => {
  it("does not delay other requests", { tags: "slow" }, async () => {
    const { daemon } = shared;
    const { client, file } = daemon;
    const headers = `Host: 127.0.0.1:${new URL(file.url).port}\r\nAuthorization: Bearer ${file.token}\r\n`;
    const deaf = await Promise.all(
      Array.from({ length: 5 }, () => deafSocket(daemon, `GET /v1/events/stream?after=0 HTTP/1.1\r\n${headers}\r\n`)),
    );
    const session = await createSession(client);
    const text = "z".repeat(2 * megabyte);
    // More than the sockets and the queues of five subscribers take.
    for (let turns = 0; turns < 6; turns++) await isDone((await say(client, session.id, text)).message);
    expect((await client.call("status")).memory_bytes).toBeLessThan(600 * megabyte);
    for (const socket of deaf) socket.destroy();
    expect(await endings(client, session.id)).toEqual(Array(6).fill("completed"));
    await expectHealthy();
  });
});
