/** Sessions that share the project's folder, by the built program: none overwrites what another one wrote. */
import { readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Client } from "@aegis/client/client.ts";
import { connect } from "@aegis/client/project/connect.ts";
import { expect, it } from "vitest";
import { aegisProject } from "../helpers/aegis.ts";
import { nativeConfig } from "../helpers/fake-models/config.ts";
import { openaiChatWire } from "../helpers/fake-models/openai-chat.ts";
import { type FakeRequest, fakeModels } from "../helpers/fake-models/server.ts";
import type { Reply } from "../helpers/fake-models/wire.ts";
import { initGit } from "../helpers/git-project.ts";
import { testProject } from "../helpers/project.ts";
import { acp, claude, codex } from "../helpers/projects/harnesses.ts";
import { answerTo, createSession, eventsOf, say, talk } from "../helpers/talk.ts";
import { waitUntil } from "../helpers/wait-until.ts";

const config = (more = "") =>
  `default_agent: dev\nagents:\n  dev: { harness: scripted, permission: write, playbook: playbook.yaml }\n${more}`;

/** `read <file>`, `write <file> <text>`, `claim <file>`, `claim <file> then hold <gate>`, `release`. */
const sharing = {
  ".aegis.yaml": config(),
  ".gitignore": "gates/\n.aegis/\n",
  "playbook.yaml": `
rules:
  - { name: read, when: '/^read (\\S+)$/', steps: [{ tool: read_file, input: { path: "{1}" }, save: it }, { say: "{it}" }] }
  - name: write
    when: '/^write (\\S+) (.+)$/'
    steps: [{ tool: write_report, input: { path: "{1}", text: "{2}\\n" }, save: it }, { say: "{it}" }]
  - name: claim, then hold
    when: '/^claim (\\S+) then hold (\\S+)$/'
    steps:
      - { tool: aegis_claim, input: { paths: ["{1}"], wait_seconds: 0 }, save: it }
      - { say: "{it}" }
      - { wait: { gate: "gates/{2}" } }
  - name: claim
    when: '/^claim (\\S+)$/'
    steps: [{ tool: aegis_claim, input: { paths: ["{1}"], wait_seconds: 0 }, save: it }, { say: "{it}" }]
  - name: claim, release, then hold
    when: '/^claim and release (\\S+) then hold (\\S+)$/'
    steps:
      - { tool: aegis_claim, input: { paths: ["{1}"] } }
      - { tool: aegis_release, input: {}, save: it }
      - { say: "{it}" }
      - { wait: { gate: "gates/{2}" } }
`,
  "notes.txt": "one\ntwo\n",
};

const claimed = async (client: Client) =>
  (await client.call("listClaims")).claims.map(({ path, handle, kind }) => ({ path, handle, kind }));

const holds = (client: Client) => waitUntil("a claim", async () => (await claimed(client)).length === 1);

it("refuses a write whose base was changed, and names who changed it and what", async () => {
  const project = await testProject(sharing);
  const { client } = await project.start();
  for (const handle of ["ada", "bob"]) await createSession(client, { handle });
  await talk(client, "ada", "read notes.txt");
  expect(await talk(client, "bob", "write notes.txt by bob")).toContain("wrote notes.txt");
  const refused = await talk(client, "ada", "write notes.txt by ada");
  expect(refused).toContain("notes.txt was changed by bob since you read it");
  expect(refused).toContain("-one\n-two\n+by bob");
  expect(await readFile(join(project.dir, "notes.txt"), "utf8")).toBe("by bob\n");
  expect((await eventsOf(client, "claim.refused")).map(({ data }) => data)).toEqual([
    { tool: "write_report", path: "notes.txt", why: "changed", by: "bob" },
  ]);
  // Repeating the write does not help; reading the file does.
  expect(await talk(client, "ada", "write notes.txt by ada")).toContain("changed by bob");
  await talk(client, "ada", "read notes.txt");
  expect(await talk(client, "ada", "write notes.txt by ada")).toContain("wrote notes.txt");
  expect(await talk(client, "ada", "write notes.txt by ada again")).toContain("wrote notes.txt");
  // A person's edit counts too, and a file that another session created.
  await project.write("notes.txt", "by a person\n");
  expect(await talk(client, "ada", "write notes.txt x")).toContain("changed outside the sessions' file tools");
  await talk(client, "ada", "write new.txt by ada");
  expect(await talk(client, "bob", "write new.txt by bob")).toContain("written by ada and you have not read it");
  expect(await claimed(client)).toEqual([]);
});

it("holds a claim for the turn of its session, and for no longer than its daemon", { tags: "slow" }, async () => {
  const project = await testProject(sharing);
  const first = await project.start();
  for (const handle of ["ada", "bob"]) await createSession(first.client, { handle });
  const holding = await say(first.client, "bob", "claim ./sub/../notes.txt then hold one");
  await holds(first.client);
  expect(await claimed(first.client)).toEqual([{ path: "notes.txt", handle: "bob", kind: "claim" }]);
  expect(await talk(first.client, "ada", "claim notes.txt")).toContain("notes.txt is claimed by bob");
  await project.open("one");
  await answerTo(first.client, holding);
  expect(await claimed(first.client)).toEqual([]);
  expect(await talk(first.client, "ada", "claim notes.txt")).toContain('"claimed":["notes.txt"]');
  const released = await say(first.client, "bob", "claim and release notes.txt then hold two");
  await waitUntil("bob has released", async () => {
    const results = await eventsOf(first.client, "turn.tool_result");
    return results.some(({ data }) => data.output.includes('"released":["notes.txt"]'));
  });
  expect(await claimed(first.client)).toEqual([]);
  await project.open("two");
  await answerTo(first.client, released);

  await talk(first.client, "bob", "write notes.txt by bob");
  await say(first.client, "bob", "claim notes.txt then hold never");
  await holds(first.client);
  await first.kill();
  const { client } = await project.start();
  // The resumed turn of bob may claim the file again; ada's write is refused either way, because bob wrote last.
  await client.call("closeSession", { path: { session: "bob" } });
  expect(await claimed(client)).toEqual([]);
  expect(await talk(client, "ada", "write notes.txt by ada")).toContain("written by bob and you have not read it");
  await talk(client, "ada", "read notes.txt");
  expect(await talk(client, "ada", "write notes.txt by ada")).toContain("wrote notes.txt");
});

it("checks the edits of Claude Code, Codex and ACP agents", { tags: "slow" }, async () => {
  const agents = {
    dev: { harness: "scripted", permission: "write", playbook: "playbook.yaml" },
    ...Object.fromEntries(
      Object.entries({ claude, codex, acp: acp() }).map(([name, { agent }]) => [
        name,
        { ...agent, permission: "write" },
      ]),
    ),
  };
  const project = await testProject({ ...sharing, ".aegis.yaml": JSON.stringify({ default_agent: "dev", agents }) });
  const { client } = await project.start();
  for (const agent of Object.keys(agents)) await createSession(client, { agent, handle: agent });
  const write = (text: string) => talk(client, "dev", `write a.txt ${text}`);
  const hooks = (tool: string, input: object) => talk(client, "claude", `do:hooks ${tool} ${JSON.stringify(input)} {}`);
  const ofClaude = { file_path: "a.txt", content: "x" };
  await write("one");
  await hooks("Read", { file_path: "a.txt" });
  await write("two");
  const denied = await hooks("Write", ofClaude);
  expect(denied).toContain('"permissionDecision":"deny"');
  expect(denied).toContain("a.txt was changed by dev since you read it");
  expect(denied).toContain("-one\\n+two");
  expect(await hooks("Edit", { file_path: "a.txt", old_string: "two", new_string: "2" })).toContain('"before":{}');
  expect(await hooks("Edit", { file_path: "a.txt", old_string: "one", new_string: "1" })).toContain("changed by dev");
  await hooks("Read", { file_path: join(project.dir, "a.txt") });
  expect(await hooks("Write", ofClaude)).toContain('"before":{}');
  // A whole file needs the content; hunks bring their context.
  expect(await talk(client, "codex", "do:patches a.txt add")).toBe("decline");
  expect(await talk(client, "codex", "do:patches a.txt update")).toBe("accept");
  expect(await talk(client, "acp", "do:asksKind edit write_file")).toBe("no");
  await talk(client, "acp", "do:asksKind read read_file");
  expect(await talk(client, "acp", "do:asksKind edit write_file")).toBe("yes");
  expect((await eventsOf(client, "claim.refused")).map(({ data }) => [data.why, data.by])).toEqual([
    ["changed", "dev"],
    ["changed", "dev"],
    ["unread", "dev"],
    ["unread", "dev"],
  ]);
  expect(await claimed(client)).toEqual([]);
});

it("claims only files of the project, is listed, is not needed in worktrees, and can be turned off", {
  tags: "slow",
}, async () => {
  const { aegis, json, root, env } = await aegisProject({
    ...sharing,
    ".aegis.yaml": config("claims: { automatic: false }\n"),
  });
  await initGit(root);
  await symlink("/etc/hosts", join(root, "out.txt"));
  await aegis("up");
  const client = await connect(root, { env });
  for (const handle of ["ada", "bob"]) await createSession(client, { handle });
  for (const path of ["../x.txt", "/etc/hosts", "out.txt", "."])
    expect(await talk(client, "ada", `claim ${path}`)).toContain(`${path} is not a file of the project`);
  expect(await talk(client, "ada", "claim .aegis")).toContain(".aegis is a folder");
  expect((await aegis("claims")).stdout).toContain("No session has claimed a file.");
  const holding = await say(client, "bob", "claim notes.txt then hold go");
  await holds(client);
  expect((await json<{ claims: unknown[] }>("claims")).claims).toMatchObject([
    { path: "notes.txt", handle: "bob", kind: "claim", waiting: [] },
  ]);
  expect((await aegis("claims")).stdout).toMatch(/^bob +its turn +\S+ +- +notes\.txt$/m);
  await createSession(client, { handle: "eve", isolation: "worktree" });
  expect(await talk(client, "eve", "claim notes.txt")).toContain("not needed: you work in a worktree");
  expect(await talk(client, "eve", "write notes.txt by eve")).toContain("wrote notes.txt");
  // Without automatic claims a write is not checked.
  await talk(client, "ada", "read notes.txt");
  await writeFile(join(root, "notes.txt"), "by a person\n");
  expect(await talk(client, "ada", "write notes.txt by ada")).toContain("wrote notes.txt");
  await client.call("interruptSession", { path: { session: "bob" } });
  expect(await claimed(client)).toEqual([]);
  expect(holding.message).toBeDefined();
});

/**
 * Appends the lines that it is told to append: reads the file and writes all of it. When it is refused, it claims the
 * file, reads again, and releases it after the write.
 */
function appending({ transcript }: FakeRequest): Reply {
  const task = transcript.findLast((line) => line.startsWith("user:")) ?? "";
  const [, name = "", count = "0"] = /append (\w+) (\d+)/.exec(task) ?? [];
  const last = transcript.at(-1) ?? "";
  const having = (text: string) =>
    transcript.filter((line) => line.startsWith("result:") && line.includes(text)).length;
  const done = having("Replaced log.txt");
  const call = (tool: string, input: object): Reply => ({
    calls: [{ id: `call-${transcript.length}`, name: tool, input }],
  });
  if (/^result: \d+\t/.test(last)) {
    const lines = last.slice("result: ".length).replaceAll(/^\d+\t/gm, "");
    return call("write", { path: "log.txt", content: `${lines}\n${name} ${done}\n` });
  }
  if (last.includes("Denied: ")) return call("aegis_claim", { paths: ["log.txt"], wait_seconds: 60 });
  if (last.includes("Replaced log.txt") && having('"claimed"') > having('"released"')) return call("aegis_release", {});
  return done === Number(count) ? { text: "done" } : call("read", { path: "log.txt" });
}

it("loses no update of eight agents that edit one file", { tags: "slow" }, async () => {
  const edits = 4;
  const models = await fakeModels(openaiChatWire, appending);
  const project = await testProject({ ".aegis.yaml": nativeConfig(models), "log.txt": "start\n" });
  const { client } = await project.start();
  const names = Array.from({ length: 8 }, (_, index) => `agent${index}`);
  for (const handle of names) await createSession(client, { handle });
  const receipts = await Promise.all(names.map((name) => say(client, name, `append ${name} ${edits}`)));
  for (const receipt of receipts) expect(await answerTo(client, receipt, 60_000)).toBe("done");
  const lines = (await readFile(join(project.dir, "log.txt"), "utf8")).trimEnd().split("\n");
  const wanted = names.flatMap((name) => Array.from({ length: edits }, (_, index) => `${name} ${index}`));
  expect(lines.toSorted()).toEqual(["start", ...wanted].toSorted());
  expect(await claimed(client)).toEqual([]);
});
