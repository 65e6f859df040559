/** Skills with a real CLI under the built daemon: its model is told of them, gets them and can load them. */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { SessionView } from "@aegis/contract/session.ts";
import { beforeAll, expect, test } from "vitest";
import { createSession } from "../helpers/talk.ts";
import { claudeCode } from "./support/harnesses/claude-code.ts";
import { turnFor } from "./support/talk.ts";
import { liveTeam } from "./support/team.ts";

const team = liveTeam([claudeCode]);
let session: SessionView;

beforeAll(async () => {
  const folder = join(team.project, ".aegis", "skills");
  await mkdir(folder, { recursive: true });
  const page = (name: string, description: string, body: string) =>
    writeFile(join(folder, `${name}.md`), `---\nname: ${name}\ndescription: ${description}\n---\n\n${body}\n`);
  await page("tea", "Brew a pot of tea", "Warm the pot first.");
  await page("cake", "Bake a cake", "Heat the oven first.");
  session = await createSession(team.client, { agent: claudeCode.harness });
});

const lastCall = () => team.model(claudeCode).calls().at(-1) ?? "";

test("the list reaches the model with its first call", async () => {
  await turnFor(team.client, session.id, "hello");
  expect(lastCall()).toContain("- cake: Bake a cake\\n- tea: Brew a pot of tea");
});

test("load_skill gives the text without asking anybody", async () => {
  const { text } = await turnFor(team.client, session.id, `TOOL ${claudeCode.planeTool("load_skill")} {"name":"tea"}`);
  expect(text).toContain("Warm the pot first.");
});

test("a message that is about a skill brings its text along, once", async () => {
  await turnFor(team.client, session.id, "bake a cake");
  expect(lastCall().match(/Heat the oven first\./g)).toHaveLength(1);
  await turnFor(team.client, session.id, "another cake");
  expect(lastCall().match(/Heat the oven first\./g)).toHaveLength(1);
});
