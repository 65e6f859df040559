import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { fakeClock } from "@aegis/test/helpers/fake-clock.ts";
import { endOf, eventsOf, runTurn, textOf, watchTurn } from "@aegis/test/helpers/turns.ts";
import { expect, test } from "vitest";
import type { ToolSpec } from "../../src/driver.ts";
import { openScripted } from "./scripted-conversation.ts";

const files = { "src/a.ts": "// TODO one\n// TODO two\n", "src/b.md": "fine\n" };
const header = "> from agent:calm-planck · 2026-01-31T09:00:00Z\n";

const planeTools: ToolSpec[] = ["aegis_handoff", "aegis_spawn", "aegis_list_sessions"].map((name) => ({
  name,
  description: "",
  inputSchema: {},
  readOnly: false,
}));

const answers: Record<string, string> = {
  aegis_handoff: "landed at calm-planck",
  aegis_spawn: '{"handle":"bold-laplace"}',
  aegis_list_sessions:
    '[{"handle":"lucid-hertz","state":"ready","title":""},{"handle":"calm-planck","state":"working"}]',
};

test("the first words of a conversation say that no model answers", async () => {
  const { conversation } = await openDefault();
  const [first] = eventsOf(await runTurn(conversation, "hello"), "text");
  expect(first?.text).toBe("(offline agent: no model, fixed rules)");
  expect(textOf(await runTurn(conversation, "hello"))).not.toContain("no model");
});

test("a greeting lists only what works", async () => {
  const { conversation, host } = await openDefault();
  const help = textOf(await runTurn(conversation, "Hello there"));
  const offers = [...help.matchAll(/^- ([^(\n]+)/gm)].map(([, offer]) => String(offer).trim());
  expect(offers.length).toBeGreaterThan(5);
  for (const offer of offers.filter((text) => !text.includes("story"))) {
    const request = offer.replace("<handle>", "calm-planck").replace("<agent>", "offline").replace(/<\w+>/, "src/a.ts");
    const events = await runTurn(conversation, request);
    expect(eventsOf(events, "tool_result").length, request).toBeGreaterThan(0);
    expect(eventsOf(events, "tool_result").filter((event) => event.is_error)).toEqual([]);
  }
  expect(host.calls.map((call) => call.name)).toEqual(["aegis_handoff", "aegis_list_sessions", "aegis_spawn"]);
});

test.each([
  ["please list files", "2 files\nsrc/a.ts\nsrc/b.md"],
  ["list files like **/*.md", "1 file like **/*.md\nsrc/b.md"],
  ["grep todo two", "1 match in 1 file\nsrc/a.ts:2: // TODO two"],
  ["How many TODOs are there?", "2 todos in 1 file\n- src/a.ts: 2"],
  ["read src/b.md", "src/b.md, 1 line:\nfine"],
  ["who is here?", "handle calm-planck, state working"],
  ["spawn offline and count todos", "handle bold-laplace"],
  ["what is the meaning of life?", "no model reads this"],
])("%s", async (request, answer) => {
  const { conversation } = await openDefault();
  expect(textOf(await runTurn(conversation, request))).toContain(answer);
});

test("a report is written and can be handed over", async () => {
  const { conversation, host, dir } = await openDefault();
  expect(textOf(await runTurn(conversation, "write a report"))).toContain(
    "2 todos in 1 file, out of 2 files; wrote aegis-report.md",
  );
  expect(await readFile(join(dir, "aegis-report.md"), "utf8")).toContain("- src/a.ts: 2");
  const events = await runTurn(conversation, "hand it to calm-planck");
  expect(textOf(events)).toBe("landed at calm-planck");
  expect(await readFile(join(dir, "aegis-report.md"), "utf8")).toContain("- 2 todos in 1 file");
  expect(host.calls).toMatchObject([
    {
      name: "aegis_handoff",
      input: { target_handle: "calm-planck", context: expect.stringContaining("aegis-report.md") },
    },
  ]);
});

test("a report does not count itself", async () => {
  const { conversation } = await openScripted({ files: { "a.ts": "// TODO only one\n" } });
  await runTurn(conversation, "write a report");
  expect(textOf(await runTurn(conversation, "write a report"))).toContain("1 todo in 1 file, out of 2 files");
});

test("what is handed over is read by the peer, who hands nothing back", async () => {
  const sender = await openDefault();
  await runTurn(sender.conversation, "hand the report to calm-planck");
  const [handoff] = sender.host.calls;
  const { context } = (handoff?.input ?? {}) as { context: string };
  const report = await readFile(join(sender.dir, "aegis-report.md"), "utf8");
  const peer = await openDefault({ "aegis-report.md": report });
  const text = textOf(await runTurn(peer.conversation, `> from agent:lucid-hertz · 2026-01-31T09:00:00Z\n${context}`));
  expect(text).toContain("lucid-hertz handed me aegis-report.md");
  expect(text).toContain("2 todos in 1 file");
  expect(peer.host.calls).toEqual([]);
});

test("a report that cannot be written is not handed over", async () => {
  const { conversation, host } = await openScripted({
    files,
    agent: { permission: "read" },
    host: { tools: planeTools, callTool: ({ name }) => ({ output: answers[name] ?? "", is_error: false }) },
  });
  expect(textOf(await runTurn(conversation, "hand the report to calm-planck"))).toContain("write_report failed");
  expect(host.calls).toEqual([]);
});

test.each([
  [`${header}thanks, could you hand over what you think?`, "only take note"],
  [`${header}count todos please`, "2 todos in 1 file"],
  ["> from substrate · 2026-01-31T09:00:00Z\nYour last turn was cut because Aegis stopped. Go on.", "I am back"],
  [
    "> from substrate · 2026-01-31T09:00:00Z\nYour message msg_1 was lost",
    "Noted from Aegis: Your message msg_1 was lost",
  ],
])("%j is answered without acting on the team", async (message, answer) => {
  const { conversation, host } = await openDefault();
  expect(textOf(await runTurn(conversation, message))).toContain(answer);
  expect(host.calls).toEqual([]);
});

test("a story is told slowly", async () => {
  const clock = fakeClock();
  const { conversation } = await openScripted({ clock });
  const turn = watchTurn(conversation, "tell me a slow story");
  await clock.sleepers(1);
  await clock.advance(60_000);
  const events = await turn.done;
  expect(eventsOf(events, "text_delta").length).toBeGreaterThan(20);
  expect(endOf(events).reason).toBe("completed");
});

function openDefault(more: Record<string, string> = {}) {
  return openScripted({
    files: { ...files, ...more },
    host: { tools: planeTools, callTool: ({ name }) => ({ output: answers[name] ?? "", is_error: false }) },
  });
}
