/** The skill-system plugin in the built package. */
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { HookContexts } from "@aegis/contract/hook.ts";
import { callHook } from "@aegis/plugin-api/testing/calls.ts";
import { expect, it } from "vitest";
import { forget, menu } from "../../plugins/skill-system/menu.ts";
import { aegisProject } from "../helpers/aegis.ts";
import { tempDir } from "../helpers/temp-dir.ts";
import { waitUntil } from "../helpers/wait-until.ts";

const skill = (name: string, description: string) =>
  `---\nname: ${name}\ndescription: ${description}\n---\n\nThe body of ${name}.\n`;

const files = {
  ".aegis.yaml": "default_agent: dev\nagents:\n  dev: { harness: scripted, playbook: pb.yaml }\n",
  "pb.yaml": `
rules:
  - name: load
    when: '/please load (\\S+)/'
    steps:
      - tool: load_skill
        input: { name: "{1}" }
        save: body
      - say: "{body}"
  - name: echo
    when: always
    steps: [{ say: "{text}" }]
`,
  ".aegis/skills/brew.md": skill("brew-tea", "Brew tea for guests"),
  ".aegis/skills/notes.md": skill("release-notes", "Write release notes from commits"),
};

it("shows the menu again when it may be forgotten, and never more than a hundred of it", async () => {
  const dataDir = await tempDir();
  const skills = [{ name: "tea", description: "Brew tea", score: 0 }];
  const shown = async (over: Partial<HookContexts["pre_turn"]>) => {
    const result = await callHook(menu, { skills, ...over }, { dataDir });
    return result?.prependSystem?.split("\n").filter((line) => /^\d+\. |^…/.test(line)) ?? [];
  };
  expect(await shown({})).toEqual(["1. tea — Brew tea"]);
  expect(await shown({})).toEqual([]);
  expect(await shown({ summedUp: 1 })).toEqual(["1. tea — Brew tea"]);
  expect(await shown({ summedUp: 1 })).toEqual([]);
  const flood = Array.from({ length: 150 }, (_, n) => ({ name: `s${n}`, description: "x", score: 0 }));
  const lines = await shown({ skills: flood });
  expect(lines).toHaveLength(101);
  expect(lines.at(-1)).toContain("50 more: find them with `search_skills(query)`");
  await callHook(forget, {}, { dataDir });
  expect(await shown({ summedUp: 1 })).toEqual(["1. tea — Brew tea"]);
});

it("shows the menu once, later what fits, again when it has changed; Aegis itself says nothing of skills", {
  tags: "slow",
}, async () => {
  const project = await aegisProject(files);
  const installed = await project.aegis("plugin", "install", "skill-system", "--yes");
  expect(installed.code, installed.stderr).toBe(0);
  await project.aegis("trust", "--yes");
  const { session } = await project.json<{ session: { handle: string } }>("spawn");
  const say = async (words: string) => (await project.aegis("send", session.handle, words, "--wait")).stdout;
  const first = await say("hello");
  expect(first).toContain("1. brew-tea — Brew tea for guests\n2. release-notes — Write release notes from commits");
  expect(first.match(/brew-tea/g)).toHaveLength(1);
  expect(await say("hello again")).not.toContain("brew-tea");
  const fitting = await say("some tea for the guests");
  expect(fitting).toContain("1. brew-tea — Brew tea for guests");
  expect(fitting).not.toContain("release-notes");
  expect(fitting).not.toContain("The body of brew-tea");
  expect(await say("please load brew-tea")).toContain("The body of brew-tea");
  await writeFile(join(project.root, ".aegis/skills/paint.md"), skill("paint-walls", "Paint the walls"));
  await waitUntil("the menu has changed", async () =>
    (await say("hello")).includes("2. paint-walls — Paint the walls"),
  );
  await project.aegis("plugin", "uninstall", "skill-system", "--yes");
  await rm(join(project.root, ".aegis/skills/paint.md"));
  await waitUntil("Aegis offers the skills again", async () => {
    const { stdout } = await project.aegis("run", "some tea for the guests");
    return stdout.includes("The body of brew-tea");
  });
});
