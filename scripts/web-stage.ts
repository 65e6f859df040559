/** The team that the screenshots show: a small shop whose agents fix a parser, review it and write its page. */
import { access, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Client } from "@aegis/client/client.ts";
import { waitForMessage } from "@aegis/client/wait.ts";
import type { SessionId } from "@aegis/contract/ids.ts";
import type { Page } from "playwright-core";

const answer = [
  "The rule now accepts a trailing comma. Two things changed:",
  "",
  "- `parseList` stops at the closing bracket instead of after a value",
  "- an empty list is no error any more",
  "",
  "```ts",
  "export function parseList(tokens: Tokens): Value[] {",
  "  const values: Value[] = [];",
  '  while (tokens.peek() !== "]") {',
  "    values.push(parseValue(tokens)); // one value",
  '    if (tokens.peek() === ",") tokens.next();',
  "  }",
  "  return values;",
  "}",
  "```",
  "",
  "| case | before | after |",
  "|---|---|---|",
  "| `[1, 2]` | 2 values | 2 values |",
  "| `[1, 2,]` | error | 2 values |",
  "",
  "All **41 tests** pass. See the [grammar notes](https://example.com/grammar).",
].join("\n");

const indented = answer
  .split("\n")
  .map((line) => `          ${line}`)
  .join("\n");

const parserBefore = `export function parseList(tokens: Tokens): Value[] {
  const values: Value[] = [parseValue(tokens)];
  while (tokens.peek() === ",") {
    tokens.next();
    values.push(parseValue(tokens));
  }
  tokens.expect("]");
  return values;
}
`;

const parserAfter = `export function parseList(tokens: Tokens): Value[] {
  const values: Value[] = [];
  while (tokens.peek() !== "]") {
    values.push(parseValue(tokens));
    if (tokens.peek() === ",") tokens.next();
  }
  tokens.expect("]");
  return values;
}
`;

/** The project; `model` is the URL of a model API. */
export const stageFiles = (model: string): Readonly<Record<string, string>> => ({
  ".aegis.yaml": `default_agent: coder
models: { shop: { base_url: "${model}", api: openai-chat } }
prices: { shop/large: { input: 3, output: 15 }, shop/small: { input: 0.3, output: 1.5 } }
agents:
  analyst: { harness: native, model: shop/large, permission: read, description: Finds out why something happens }
  helper: { harness: native, model: shop/small, permission: read, description: Answers short questions }
  lead: { harness: scripted, playbook: .aegis/team.yaml, permission: write, description: Plans the work and hands it out }
  coder: { harness: scripted, playbook: .aegis/team.yaml, permission: write, description: Changes the code }
  reviewer: { harness: scripted, playbook: .aegis/team.yaml, permission: read, description: Reviews changes }
  writer: { harness: scripted, playbook: .aegis/team.yaml, permission: write, description: Writes documentation }
queues:
  docs: { agent: writer, max_parallel: 1 }
  review: { agent: reviewer, max_parallel: 2 }
schedules:
  nightly-report: { queue: docs, payload: "write the nightly report", cron: "0 2 * * *", timezone: UTC }
  weekly-audit: { agent: reviewer, prompt: "audit the dependencies", cron: "0 9 * * 1", timezone: UTC }
`,
  ".aegis/team.yaml": `
rules:
  - name: fix
    when: '/fix the parser/'
    steps:
      - think: "The list rule consumes a value after each comma. A trailing comma then meets the bracket. I should read the rule and its tests first."
      - tool: list_files
        input: { glob: "src/**" }
        save: files
      - tool: read_file
        input: { path: src/parser.ts }
        save: parser
      - wait: { gate: gates/edited }
      - tool: write_report
        input: { path: docs/lists.md, text: "# Lists\\n\\nA comma may follow the last value.\\n" }
      - say: |
${indented}
      - tool: aegis_handoff
        input: { target_handle: "calm-noether", context: "review the parser change: trailing commas in lists" }
  - name: plan
    when: '/plan the release/'
    steps:
      - say: "Four steps: fix the parser, review it, document it, publish."
      - tool: aegis_handoff
        input: { target_handle: "brisk-turing", context: "fix the parser: a trailing comma is an error" }
      - tool: aegis_enqueue
        input: { queue: docs, payload: "document trailing commas" }
  - name: review
    when: '/review the parser/'
    steps:
      - tool: grep
        input: { pattern: parseList }
        save: found
      - wait: 1200
      - say: "The change is right. One test for nested lists is missing."
      - tool: aegis_handoff
        input: { target_handle: "wise-emmy", context: "reviewed: good, add a test for nested lists" }
  - name: test
    when: '/run the tests/'
    steps:
      - ask: "May I run the tests?"
        tool: "Bash"
        input: { command: "npm test -- --run src/parser.test.ts" }
        save: decision
      - say: "{decision}"
  - name: hold
    when: '/^measure/'
    steps: [{ think: "First the slow path." }, { tool: read_file, input: { path: src/parser.ts } }, { wait: { gate: gates/measured } }]
  - name: break
    when: '/^publish/'
    steps: [{ fail: "the registry refused the package: version 2.1.0 exists already", code: model }]
  - name: document
    when: '/document/'
    steps: [{ tool: write_report, input: { path: docs.md, text: "# Lists" } }, { wait: 900 }, { say: "docs.md explains trailing commas with two examples." }]
  - name: opinion
    when: '/trailing commas in its output/'
    steps: [{ wait: 400 }, { say: "No. Reading them is a kindness to people; writing them would change every file that we format." }]
  - name: else
    when: always
    steps: [{ wait: 300 }, { say: "Done: {text}" }]
`,
  ".aegis/agents/scout.md": `---
name: scout
description: Finds out how other parsers treat a case, and reports with sources
permission: read
tools: [read, grep, glob, web_fetsh]
---

You find out how other programs solve a problem.

- Read before you judge, and name the file and the line.
- Report at most five findings, the most useful one first.
`,
  "src/parser.ts": parserBefore,
  "README.md": "# Shop\n",
  ".gitignore": "gates/\n.aegis/\n",
});

export type StagedView = { name: string; place: string; ready: string; act?: (page: Page) => Promise<void> };

/** Lets the team work, and leaves one question open and one session at work. */
export async function stageTeam(client: Client, root: string): Promise<{ views: StagedView[] }> {
  const create = async (agent: string, handle: string, title: string): Promise<SessionId> =>
    (await client.call("createSession", { body: { agent, handle, title } })).session.id;
  const say = async (session: SessionId, text: string) =>
    (await client.call("sendMessage", { path: { session }, body: { text } })).receipt;
  const talk = async (session: SessionId, text: string) => {
    const receipt = await say(session, text);
    await waitForMessage(client, receipt.message, session, { signal: AbortSignal.timeout(60_000) });
  };
  const lead = await create("lead", "wise-emmy", "Release 2.1");
  const coder = await create("coder", "brisk-turing", "Fix the parser");
  const reviewer = await create("reviewer", "calm-noether", "Review the parser change");
  const bench = await create("coder", "keen-ada", "Measure the slow path");
  const tester = await create("coder", "bold-hypatia", "Run the tests");
  const publisher = await create("writer", "swift-grace", "Publish 2.1.0");
  await talk(lead, "plan the release");
  // The offline agent writes no code, so the stage changes the file in its turn.
  await until(async () => (await client.call("getSession", { path: { session: coder } })).session.state === "working");
  await writeFile(join(root, "src/parser.ts"), parserAfter);
  await mkdir(join(root, "gates"));
  await writeFile(join(root, "gates/edited"), "");
  await settled(client);
  await talk(publisher, "publish 2.1.0");
  const analyst = await create("analyst", "deft-lovelace", "Who depends on the error?");
  for (const text of ["why is a trailing comma an error?", "who depends on it?", "what would you change?"])
    await talk(analyst, text);
  await talk(await create("helper", "quick-hopper", "Names of the rules"), "how many rules are there?");
  await say(tester, "run the tests");
  await say(bench, "measure the parser");
  await say(bench, "and write down the numbers");
  await client.call("enqueueTask", { path: { queue: "review" }, body: { payload: "review the parser tests" } });
  await client.call("spawnGroup", { path: { group: "design" }, body: { agents: ["coder", "reviewer", "writer"] } });
  await client.call("broadcastGroup", {
    path: { group: "design" },
    body: { objective: "Should the parser keep trailing commas in its output?" },
  });
  const { run } = await client.call("startRun", {
    path: { workflow: "review_branch" },
    body: { text_args: { base: "main" } },
  });
  await until(async () => (await client.call("listAsks")).asks.length > 0);
  await settled(client, 2);
  await access(join(root, "README.md"));
  const { messages } = await client.call("listMessages", { path: { session: reviewer } });
  const passed = messages.find(({ sender }) => sender.kind === "agent");
  return {
    views: [
      { name: "home", place: "#/", ready: ".card" },
      { name: "team", place: "#/team", ready: ".surface canvas" },
      { name: "session", place: `#/s/${coder}`, ready: ".markdown" },
      { name: "changes", place: `#/changes/${coder}?file=src%2Fparser.ts`, ready: ".review-lines td.line" },
      { name: "costs", place: "#/costs?by=session&range=day", ready: ".plot" },
      { name: "waiting", place: `#/s/${bench}`, ready: ".waiting" },
      { name: "ask", place: `#/s/${tester}`, ready: ".desk .ask" },
      { name: "workflows", place: "#/workflows", ready: ".table" },
      { name: "run", place: `#/workflows/${run.id}`, ready: ".page" },
      { name: "queues", place: "#/queues", ready: ".table" },
      { name: "schedules", place: "#/schedules", ready: ".table" },
      { name: "groups", place: "#/groups", ready: ".replies" },
      { name: "catalog", place: "#/catalog", ready: ".table" },
      { name: "agent", place: "#/catalog/agents/scout", ready: ".table" },
      { name: "editor", place: "#/catalog/agents/scout/edit", ready: ".check li" },
      { name: "skills", place: "#/catalog/skills", ready: ".fields" },
      { name: "plugins", place: "#/catalog/plugins", ready: ".fields", act: lookAtPlugin },
      { name: "why", place: `#/why/${passed?.id}`, ready: ".why li" },
      { name: "events", place: "#/events", ready: ".events li" },
    ],
  };
}

/** Opens what a plugin would run, before it is installed. */
async function lookAtPlugin(page: Page): Promise<void> {
  await page.getByRole("button", { name: "List the registries" }).click();
  await page.getByRole("button", { name: "Look at memory-system" }).click();
  await page.locator(".consent").scrollIntoViewIfNeeded();
}

/** Waits until no more than so many sessions work. */
async function settled(client: Client, working = 0): Promise<void> {
  await until(async () => {
    const { sessions } = await client.call("listSessions");
    return sessions.filter((one) => one.state === "working" || one.pending > 0).length <= working;
  });
}

async function until(isTrue: () => Promise<boolean>): Promise<void> {
  while (!(await isTrue())) await new Promise((resolve) => setTimeout(resolve, 100));
}
