// @module-tag slow
/** A turn that waits for a person is not ended as inactive, however the harness asked. */
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { testProject } from "../helpers/project.ts";
import { answerTo, createSession, endings, openAsk, say } from "../helpers/talk.ts";
import { waitUntil } from "../helpers/wait-until.ts";

const command = [process.execPath, fileURLToPath(new URL("waiting-agent.mjs", import.meta.url))];
const inactivityMs = 5_000;
const options = { command, inactivity_minutes: inactivityMs / 60_000 };
const files = {
  ".aegis.yaml": `default_agent: dev\nagents:\n  dev: { harness: acp, options: ${JSON.stringify(options)} }\n`,
};

it.each([
  ["through the plane, without telling of its call", "a question", { text: "go ahead" }],
  ["for permission", "a permission", { choice: "allow" }],
])("an agent that asks %s waits for longer than it may be silent", async (_how, prompt, body) => {
  const { client } = await (await testProject(files)).start();
  const session = await createSession(client);
  const receipt = await say(client, session.id, `needs ${prompt}`);
  const ask = await openAsk(client);
  await waitUntil("the agent has been silent for too long", () => Date.now() > ask.created_at + inactivityMs + 500);
  expect((await client.call("listAsks")).asks.map(({ id }) => id)).toEqual([ask.id]);
  expect(await endings(client, session.id)).toEqual(["running"]);
  await client.call("answerAsk", { path: { ask: ask.id }, body });
  expect(await answerTo(client, receipt)).toBe("I may");
  expect(await endings(client, session.id)).toEqual(["completed"]);
});
