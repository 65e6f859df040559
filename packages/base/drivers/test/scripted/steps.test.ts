import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fakeClock } from "@aegis/test/helpers/fake-clock.ts";
import { endOf, eventsOf, promptOf, runTurn, textOf, watchTurn } from "@aegis/test/helpers/turns.ts";
import { expect, test } from "vitest";
import { openScripted } from "./scripted-conversation.ts";

test("texts are filled with captures, the message, who sent it and the turn's number", async () => {
  const { conversation } = await openScripted({
    playbook: `
rules:
  - name: all
    when: /two (\\w+)( missing)?/
    steps: [{ say: "{1}|{2}|{text}|{sender}|{handle}|{turn_number}|{{1}}" }]`,
  });
  await runTurn(conversation, "anything");
  const events = await runTurn(conversation, "> from agent:calm-planck · 2026-01-31T09:00:00Z\nOne Two THREE");
  expect(textOf(events)).toBe("THREE||One Two THREE|calm-planck|lucid-hertz|2|{1}");
});

test("the first rule that fits wins, each message of a batch gets its own, and silence is never an answer", async () => {
  const { conversation } = await openScripted({
    playbook: `
rules:
  - { name: peer, from: agent, when: always, steps: [{ say: "peer {sender}" }] }
  - { name: words, when: [apples, PEARS], steps: [{ say: fruit }] }`,
  });
  const batch = [
    "I like pears",
    "> from agent:calm-planck · 2026-01-31T09:00:00Z\napples",
    "> from queue:work · task#7 · ok · 2026-01-31T09:00:00Z\nmore apples\n\nand a paragraph",
    "> from substrate · 2026-01-31T09:00:00Z\nstones",
  ];
  const said = eventsOf(await runTurn(conversation, batch.join("\n\n")), "text").map((event) => event.text);
  expect(said).toEqual(["fruit", "peer calm-planck", "fruit", expect.stringContaining("no rule of my playbook")]);
});

test("a stream takes its time by the clock, and what was said before an abort stays", async () => {
  const clock = fakeClock();
  const { conversation } = await openScripted({
    clock,
    playbook: `rules: [{ name: s, when: always, steps: [{ stream: abcdef, chunk: 2, delay: 100 }, { say: never }] }]`,
  });
  const turn = watchTurn(conversation, "go");
  await clock.sleepers(1);
  expect(textDeltas(turn.events)).toEqual(["ab"]);
  await clock.advance(100);
  expect(textDeltas(turn.events)).toEqual(["ab", "cd"]);
  turn.abort();
  const events = await turn.done;
  expect(textOf(events)).toBe("abcd");
  expect(endOf(events).reason).toBe("cancelled");
});

test("a gate holds the turn until its file is there", async () => {
  const clock = fakeClock();
  const { conversation, dir } = await openScripted({
    clock,
    playbook: `rules: [{ name: g, when: always, steps: [{ wait: { gate: go.txt } }, { say: went }] }]`,
  });
  const turn = watchTurn(conversation, "go");
  await clock.sleepers(1);
  expect(turn.events).toEqual([]);
  await writeFile(join(dir, "go.txt"), "");
  await clock.advance(1000);
  expect(textOf(await turn.done)).toBe("went");
});

test("a tool of the plane is called with a key that a redelivery repeats", async () => {
  const { conversation, host } = await openScripted({
    host: {
      tools: [{ name: "aegis_note", description: "", inputSchema: {}, readOnly: false }],
      callTool: ({ input }) => ({ output: JSON.stringify(input), is_error: false }),
    },
    playbook: `
rules:
  - name: note
    when: /note (.+)/
    steps:
      - { think: ok }
      - { tool: aegis_note, input: { text: "{1}", tags: ["{sender}"] }, save: made }
      - { say: "{made.list}" }`,
  });
  const prompt = promptOf("note this", "key-1");
  const events = await runTurn(conversation, prompt);
  await runTurn(conversation, { ...prompt, turn: "another" });
  expect(host.calls).toEqual([
    { name: "aegis_note", input: { text: "this", tags: ["human"] }, key: "key-1/0.1" },
    { name: "aegis_note", input: { text: "this", tags: ["human"] }, key: "key-1/0.1" },
  ]);
  expect(textOf(events)).toBe('- text this, tags ["human"]');
});

test("a tool that fails ends its rule, is told, and leaves the other messages alone", async () => {
  const { conversation } = await openScripted({
    playbook: `
rules:
  - { name: bad, when: bad, steps: [{ tool: list_flies }, { say: "done, all fine" }] }
  - { name: good, when: good, steps: [{ say: good }] }`,
  });
  const events = await runTurn(conversation, "bad\n\n> from channel:telegram · 2026-01-31T09:00:00Z\ngood");
  expect(eventsOf(events, "tool_result")).toMatchObject([{ is_error: true }]);
  expect(textOf(events)).toBe('list_flies failed: no tool "list_flies" (did you mean "list_files"?)\ngood');
  expect(endOf(events).reason).toBe("completed");
});

test("an agent that died answers no more", async () => {
  const { conversation } = await openScripted({
    playbook: `rules: [{ name: d, when: always, steps: [{ die: so long }] }]`,
  });
  expect(endOf(await runTurn(conversation, "x")).error).toMatchObject({ code: "died", stderr: "so long" });
  expect(conversation.alive).toBe(false);
  expect(endOf(await runTurn(conversation, "x"))).toMatchObject({ reason: "failed", error: { code: "died" } });
});

function textDeltas(events: Parameters<typeof eventsOf>[0]): string[] {
  return eventsOf(events, "text_delta").map((event) => event.text);
}
