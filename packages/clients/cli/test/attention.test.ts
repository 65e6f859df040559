/** Commands that people start their work with say once, in one line, what of the project has no effect. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { aegisProject } from "@aegis/test/helpers/aegis.ts";
import { waitUntil } from "@aegis/test/helpers/wait-until.ts";
import { expect, it } from "vitest";
import { attentionLine } from "../src/format/attention.ts";

const playbook = 'rules: [{ name: all, when: always, steps: [{ say: "hi" }] }]\n';
const files = {
  ".aegis.yaml": `default_agent: quiet
agents:
  quiet: { harness: scripted }
  played: { harness: scripted, playbook: play.yaml }
`,
  "play.yaml": playbook,
  ".aegis/plugins/broken/plugin.toml": '[plugin]\nname = "broken"\nversion = "1.0.0"\n',
  ".aegis/plugins/broken/main.ts": 'throw new Error("it does not load");\n',
};

type Attention = { attention: { untrusted: string[]; changed: string[]; failed: string[] } };

it("says on up, status, run and chat what is untrusted, changed or failed, in one line each", {
  tags: "slow",
}, async () => {
  const { aegis, json, pipe, root } = await aegisProject(files, { trusted: false });
  expect((await aegis("trust", "--yes")).code).toBe(0);
  await aegis("up");
  await waitUntil("the plugin failed", async () => (await json<Attention>("status")).attention.failed.length === 1);
  await writeFile(join(root, "play.yaml"), `${playbook}# changed\n`);
  await writeFile(join(root, ".aegis/plugins/later.ts"), "export {};\n");
  await waitUntil(
    "the plugin was seen",
    async () => (await json<Attention>("status")).attention.untrusted.length === 1,
  );

  const line =
    /1 not trusted \(plugin later\), 1 changed since you trusted it \(agent config\/played\); .*see: aegis trust --list; 1 plugin failed \(plugin broken\), see: aegis plugin list/;
  const told = (text: string) => text.split("\n").filter((one) => one.includes("aegis trust --list"));
  for (const { stderr } of [await aegis("up"), await aegis("run", "hello"), await pipe("one\ntwo\n", "chat")]) {
    expect(told(stderr)).toHaveLength(1);
    expect(stderr).toMatch(line);
  }
  const { stdout } = await aegis("status");
  expect(told(stdout)).toHaveLength(1);
  expect(stdout).toMatch(line);
  const expected = { untrusted: ["plugin later"], changed: ["agent config/played"], failed: ["plugin broken"] };
  for (const args of [["up"], ["status"], ["run", "hello"]])
    expect((await json<Attention>(...args)).attention).toEqual(expected);
});

it("says nothing where there is nothing to say", { tags: "slow" }, async () => {
  const { aegis } = await aegisProject(
    { ".aegis.yaml": "agents:\n  quiet: { harness: scripted }\n" },
    { trusted: false },
  );
  for (const { stdout, stderr } of [await aegis("up"), await aegis("status"), await aegis("run", "hello")])
    expect(stdout + stderr).not.toContain("aegis trust");
});

it("names a few and counts the rest", () => {
  const untrusted = ["agent a", "agent b", "agent c", "agent d", "agent e"];
  expect(attentionLine({ attention: { untrusted, changed: [], failed: [] } })).toBe(
    "5 not trusted (agent a, agent b, agent c and 2 more); has no effect, see: aegis trust --list",
  );
  expect(attentionLine({ attention: { untrusted: [], changed: [], failed: [] } })).toBeNull();
  expect(attentionLine({})).toBeNull();
});
