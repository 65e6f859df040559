// @module-tag slow
/** A broadcast that a power cut finds half answered. */

import type { Client } from "@aegis/client/client.ts";
import type { Event } from "@aegis/contract/event.ts";
import { expect, it } from "vitest";
import { testProject } from "../helpers/project.ts";
import { messages } from "../helpers/talk.ts";
import { waitUntil } from "../helpers/wait-until.ts";

const files = {
  ".aegis.yaml": `
default_agent: quick
agents:
  lead: { harness: scripted, playbook: lead.yaml, permission: write }
  echo: { harness: scripted, playbook: echo.yaml }
  quick: { harness: scripted, playbook: quick.yaml }
  slow: { harness: scripted, playbook: slow.yaml }
`,
  "lead.yaml": `
rules:
  - name: ask the group
    when: '/^ask (\\w+)/'
    steps:
      - tool: aegis_group_broadcast
        input: { group: choir, objective: "{1}", output_format: words, tool_guidance: none, boundaries: none }
        save: sent
      - tool: aegis_group_wait_all
        input: { group: choir, timeout: 60, broadcast_id: "{sent.id}" }
        save: result
      - say: "{1} gave {result}"
  - name: wait
    when: '/^hold (\\w+)/'
    steps: [{ wait: { gate: "gates/{1}" } }, { say: held }]
`,
  "echo.yaml": `rules: [{ name: any, when: '/objective: (\\w+)/', steps: [{ say: "heard {1}" }] }]\n`,
  "quick.yaml": 'rules: [{ name: any, when: always, steps: [{ say: "quick reply" }] }]\n',
  "slow.yaml":
    'rules: [{ name: any, when: always, steps: [{ say: "on it" }, { wait: { gate: gates/slow } }, { say: "slow reply" }] }]\n',
};

it("keeps the reply that was given and gets the other one after kill -9, each once", async () => {
  const project = await testProject(files);
  const first = await project.start();
  const path = { group: "team" };
  const { handles } = await first.client.call("spawnGroup", { path, body: { agents: ["quick", "slow"] } });
  const [quick = "", slow = ""] = handles;
  const { broadcast } = await first.client.call("broadcastGroup", { path, body: { objective: "say something" } });
  const replies = async ({ client }: typeof first) =>
    (await client.call("getBroadcast", { path: { broadcast: broadcast.id } })).by_member;
  await waitUntil("one has replied", async () => (await replies(first))[quick]?.status === "ok");
  const given = (await replies(first))[quick];
  expect((await replies(first))[slow]?.status).not.toBe("ok");
  await first.kill();

  const second = await project.start();
  const early = await second.client.call("waitGroup", { path, body: { timeout: 0 } });
  expect(early.timeouts).toEqual([slow]);
  expect(early.by_member[quick]).toEqual(given);
  await project.open("slow");
  const done = await second.client.call("waitGroup", { path, body: { timeout: 10, reducer: "join_by_handle" } });
  expect(done).toMatchObject({ broadcast_id: broadcast.id, timeouts: [], errors: {} });
  expect(done.by_member[quick]).toEqual(given);
  expect(done.by_member[slow]).toMatchObject({ status: "ok", text: expect.stringContaining("slow reply") });
  for (const handle of handles) {
    const asked = (await messages(second.client, handle)).filter((message) => message.sender.kind === "group");
    expect(asked.map((message) => message.status)).toEqual(["done"]);
  }
});

it("gives each of two broadcasts of a repeated turn its own replies", async () => {
  const project = await testProject(files);
  const first = await project.start();
  await first.client.call("spawnGroup", { path: { group: "choir" }, body: { agents: ["echo"] } });
  const { session } = await first.client.call("createSession", { body: { agent: "lead", handle: "lead" } });
  const path = { session: session.id };
  const send = (text: string) => first.client.call("sendMessage", { path, body: { text } });
  await send("hold start");
  await waitUntil(
    "it works",
    async () => (await first.client.call("getSession", { path })).session.state === "working",
  );
  for (const text of ["ask alpha", "ask beta", "hold end"]) await send(text);
  await project.open("start");
  const settled = async () => (await eventsOf(first.client, "group.settled")).length === 2;
  await waitUntil("both are answered", settled);
  await first.kill();

  const second = await project.start();
  await project.open("end");
  const done = async () => (await messages(second.client, "lead")).every(({ status }) => status === "done");
  await waitUntil("the repeated turn has ended", done);
  const texts = (await eventsOf(second.client, "turn.text")).flatMap(({ type, session: of, data }) =>
    type === "turn.text" && of === session.id ? [data.text] : [],
  );
  const repeated = texts.slice(-3);
  expect(repeated).toEqual([
    expect.stringMatching(/^alpha gave .*heard alpha/),
    expect.stringMatching(/^beta gave .*heard beta/),
    "held",
  ]);
});

async function eventsOf(client: Client, type: Event["type"]): Promise<Event[]> {
  const { events } = await client.call("listEvents", { query: { limit: 1_000 } });
  return events.filter((event) => event.type === type);
}
