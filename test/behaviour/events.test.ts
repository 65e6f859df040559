import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Event } from "@aegis/contract/event.ts";
import { stateDir } from "@aegis/lib/daemon-file.ts";
import { describe, expect, it } from "vitest";
import { obedient, sharedDaemon, testProject } from "../helpers/project.ts";
import { errorOf, raw } from "../helpers/raw.ts";
import { openStream } from "../helpers/sse.ts";
import { allEvents, createSession, hasSaid, openAsk, say, talk } from "../helpers/talk.ts";
import { waitUntil } from "../helpers/wait-until.ts";

function transcript(dir: string, session: string): Promise<Event[]> {
  return readFile(join(stateDir(dir), "sessions", `${session}.jsonl`), "utf8").then((text) =>
    text
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => JSON.parse(line) as Event),
  );
}

describe("event streams over restarts", () => {
  it("a reader that resumes sees every event once and in order, whichever way it names its place", {
    tags: "slow",
  }, async () => {
    const project = await testProject();
    const seen: Event[] = [];
    const seenByHeader: Event[] = [];
    let session = "";
    for (let round = 0; round < 3; round++) {
      const daemon = await project.start();
      const stream = await openStream(daemon, `?after=${seen.at(-1)?.seq ?? 0}`);
      const last = String(seenByHeader.at(-1)?.seq ?? 0);
      const byHeader = await openStream(daemon, "", { "last-event-id": last });
      session ||= (await createSession(daemon.client)).id;
      await talk(daemon.client, session, `round ${round}`);
      await say(daemon.client, session, `hold gate${round}`);
      const holding = (event: Event) => event.type === "turn.text" && event.data.text === `holding gate${round}`;
      await stream.sees(`round ${round} holds`, holding);
      await daemon.kill();
      await Promise.all([stream.ended, byHeader.ended]);
      seen.push(...stream.events);
      seenByHeader.push(...byHeader.events);
      await project.open(`gate${round}`);
    }
    const { client } = await project.start();
    const stored = await allEvents(client);
    expect(stored.map((event) => event.seq)).toEqual(stored.map((_, index) => index + 1));
    expect(seen).toEqual(stored.slice(0, seen.length));
    expect(seenByHeader).toEqual(stored.slice(0, seenByHeader.length));
    expect(seen.filter((event) => event.type === "daemon.started")).toHaveLength(3);
  });
});

describe("event streams", () => {
  const shared = sharedDaemon();

  it("carry text as it is written only for those who watch, and the whole text for all", async () => {
    const { daemon } = shared;
    const session = await createSession(daemon.client);
    const live = await openStream(daemon, "?live=true");
    const plain = await openStream(daemon, "");
    const words = "a text that is written bit by bit";
    expect(await talk(daemon.client, session.id, `stream ${words}`)).toBe(words);
    const isEnd = (event: Event) => event.type === "turn.ended" && event.session === session.id;
    await live.sees("the end", isEnd);
    await plain.sees("the end", isEnd);
    const deltas = live.blocks.filter((block) => block.event === "delta");
    expect(deltas.length).toBeGreaterThan(1);
    const parts = deltas.map((block) => JSON.parse(block.data ?? "{}") as { text: string; offset: number });
    const texts = parts.map((part) => part.text);
    expect(parts.map((part) => part.offset)).toEqual(texts.map((_, index) => texts.slice(0, index).join("").length));
    expect(texts.join("")).toBe(words);
    expect(plain.blocks.filter((block) => block.event === "delta")).toEqual([]);
    expect(plain.events).toEqual(live.events);
    const stored = await allEvents(daemon.client, session.id);
    expect(stored.filter((event) => event.type === "turn.text")).toHaveLength(1);
  });

  it("of one session carry nothing of another", async () => {
    const { daemon } = shared;
    const [mine, other] = [await createSession(daemon.client), await createSession(daemon.client)];
    const stream = await openStream(daemon, `?after=0&live=true&session=${mine.id}`);
    await talk(daemon.client, other.id, "stream not for you");
    await talk(daemon.client, mine.id, "stream for you");
    await stream.sees("the end", (event) => event.type === "turn.ended");
    expect(new Set(stream.events.map((event) => event.session))).toEqual(new Set([mine.id]));
    const deltas = stream.blocks.filter((block) => block.event === "delta");
    expect(deltas.every((block) => block.data?.includes(mine.id))).toBe(true);
    expect(stream.events).toEqual((await allEvents(daemon.client, mine.id)).slice(0, stream.events.length));
  });

  it("refuse a place that is none", async () => {
    const { daemon } = shared;
    const path = "/v1/events/stream";
    expect(errorOf(await raw(daemon, `${path}?after=999999`)).code).toBe("conflict");
    expect(errorOf(await raw(daemon, `${path}?after=-1`)).code).toBe("invalid");
    expect(errorOf(await raw(daemon, `${path}?after=x`)).code).toBe("invalid");
    expect(errorOf(await raw(daemon, path, { headers: { "last-event-id": "x" } })).code).toBe("invalid");
    expect(errorOf(await raw(daemon, `${path}?session=nobody`)).code).toBe("invalid");
  });
});

describe("transcripts", () => {
  const secrets = { env: "sk-env-0123456789", config: 'sk-"quoted"-0123456789' };

  it("hold what the event log holds, over a crash, and no secret of the environment or the configuration", async () => {
    const project = await testProject({
      ...obedient,
      ".aegis.yaml": `default_agent: dev\nagents:\n  dev:\n    harness: scripted\n    playbook: playbook.yaml\n    env: { SERVICE_TOKEN: '${secrets.config}' }\n`,
    });
    // The second one looks like the beginning of every timestamp of these minutes.
    const env = { OPENAI_API_KEY: secrets.env, CLOCK_TOKEN: String(Date.now()).slice(0, 8) };
    const first = await project.start({ env });
    const session = await createSession(first.client, { title: `about ${secrets.env}` });
    const others = await createSession(first.client, { handle: "calm-moore" });
    const stream = await openStream(first, "?after=0");
    for (const value of Object.values(secrets)) await talk(first.client, session.id, `say ${value} again`);
    await say(first.client, session.id, `may you use ${secrets.env}`);
    const ask = await openAsk(first.client);
    await first.client.call("answerAsk", { path: { ask: ask.id }, body: { choice: "deny", text: secrets.config } });
    await say(first.client, session.id, `hand ${secrets.env} to calm-moore then hold one`);
    await waitUntil("it was handed over", async () =>
      (await allEvents(first.client, session.id)).some((event) => event.type === "turn.tool_result"),
    );
    // The peer gets what was said; once it has answered, the row holds only what may be written down.
    await hasSaid(first.client, others.id, "you said: [redacted]");
    await waitUntil("the peer's turn is over", async () => {
      const { messages } = await first.client.call("listMessages", { path: { session: others.id } });
      return messages[0]?.status === "done";
    });
    const { messages } = await first.client.call("listMessages", { path: { session: others.id } });
    expect(messages[0]?.body).toBe("[redacted]");
    await first.kill();
    await stream.ended;
    await project.open("one");

    const { client, ...second } = await project.start({ env });
    await talk(client, session.id, "after the crash");
    for (const { id } of [session, others]) {
      const stored = await allEvents(client, id);
      await waitUntil(
        "the transcript has it all",
        async () => (await transcript(project.dir, id)).length >= stored.length,
      );
      expect(await transcript(project.dir, id)).toEqual(stored);
      const text = JSON.stringify(stored);
      expect(text).toContain("[redacted]");
      for (const value of [secrets.env, secrets.config.slice(-11)]) expect(text).not.toContain(value);
    }
    const { turns } = await client.call("listTurns", { path: { session: session.id } });
    const written = JSON.stringify([turns, stream.events, first.output, second.output]);
    expect(written.includes(secrets.env) || written.includes(secrets.config.slice(-11))).toBe(false);
  });

  it("that were torn by a crash or deleted are made whole", { tags: "slow" }, async () => {
    const project = await testProject();
    const first = await project.start();
    const session = await createSession(first.client);
    await talk(first.client, session.id, "one");
    await waitUntil("a transcript", async () => (await transcript(project.dir, session.id)).length > 3);
    await first.kill();
    const file = join(".aegis/state/sessions", `${session.id}.jsonl`);
    const whole = await readFile(join(project.dir, file));
    await project.write(file, whole.subarray(0, whole.length - 7));

    const { client } = await project.start();
    await talk(client, session.id, "two");
    const stored = await allEvents(client, session.id);
    await waitUntil("it is whole", async () => (await transcript(project.dir, session.id)).length === stored.length);
    expect(await transcript(project.dir, session.id)).toEqual(stored);
  });
});
