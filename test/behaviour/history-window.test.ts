import { expect, it } from "vitest";
import { obedient, sharedDaemon } from "../helpers/project.ts";
import { createSession, talk } from "../helpers/talk.ts";

const shared = sharedDaemon(obedient);

it("a page of history has the messages of its turns, wherever they were admitted", async () => {
  const { client } = shared.daemon;
  const { id: session } = await createSession(client);
  for (const text of ["one", "two", "three"]) await talk(client, session, `say ${text}`);
  const read = (query: object) => client.call("history", { path: { session }, query });
  const { events, messages } = await read({ limit: 1000 });
  expect(messages).toEqual([]);
  const starts = events.filter(({ type }) => type === "turn.started");
  expect(starts).toHaveLength(3);
  for (const [index, { seq }] of starts.entries()) {
    const page = await read({ before: seq + 1, limit: 1 });
    expect(page.messages.map(({ body, status }) => [body, status])).toEqual([
      [`say ${["one", "two", "three"][index]}`, "done"],
    ]);
  }
  const started = starts[1]?.seq ?? 0;
  const admitted = events.findLast(({ type, seq }) => type === "message.admitted" && seq < started)?.seq ?? 0;
  const whole = await read({
    before: started + 1,
    limit: events.filter(({ seq }) => seq >= admitted && seq <= started).length,
  });
  expect(whole.messages).toEqual([]);
});

it("messages can be read from the newest one back", async () => {
  const { client } = shared.daemon;
  const { id: session } = await createSession(client);
  for (const text of ["one", "two", "three"]) await talk(client, session, text);
  const read = async (query: object) =>
    (await client.call("listMessages", { path: { session }, query })).messages.map(({ id, body }) => ({ id, body }));
  const newest = await read({ from: "newest", limit: 2 });
  expect(newest.map(({ body }) => body)).toEqual(["two", "three"]);
  const older = await read({ from: "newest", limit: 2, before: newest[0]?.id });
  expect(older.map(({ body }) => body)).toEqual(["one"]);
  expect((await read({ limit: 1 })).map(({ body }) => body)).toEqual(["one"]);
  const elsewhere = await createSession(client);
  const wrong = client.call("listMessages", { path: { session: elsewhere.id }, query: { before: newest[0]?.id } });
  await expect(wrong).rejects.toMatchObject({ code: "not_found" });
});
