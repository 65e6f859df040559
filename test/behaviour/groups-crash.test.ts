/** A broadcast that a power cut finds half answered. */
import { expect, it } from "vitest";
import { testProject } from "../helpers/project.ts";
import { messages } from "../helpers/talk.ts";
import { waitUntil } from "../helpers/wait-until.ts";

const files = {
  ".aegis.yaml": `
default_agent: quick
agents:
  quick: { harness: scripted, playbook: quick.yaml }
  slow: { harness: scripted, playbook: slow.yaml }
`,
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
