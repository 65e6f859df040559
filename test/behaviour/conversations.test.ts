/** Steering, forks and images over the API of the built daemon: offline agents, and native ones on a fake model. */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { anthropicWire } from "../helpers/fake-models/anthropic.ts";
import { nativeConfig } from "../helpers/fake-models/config.ts";
import { type FakeModels, type FakeRequest, fakeModels } from "../helpers/fake-models/server.ts";
import type { Reply } from "../helpers/fake-models/wire.ts";
import { type Daemon, type Project, testProject } from "../helpers/project.ts";
import { answerTo, createSession, endings, eventsOf, hasSaid, message, say, talk } from "../helpers/talk.ts";
import { waitUntil } from "../helpers/wait-until.ts";

const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/** Repeats what it was told; `look` makes it use a tool first. */
function answer({ transcript }: FakeRequest): Reply {
  const last = transcript.at(-1) ?? "";
  if (last === "user: look") return { calls: [{ id: "call-1", name: "ls", input: {} }] };
  const said = transcript.filter((line) => line.startsWith("user: ")).map((line) => line.slice("user: ".length));
  return { text: `heard ${said.join(", ")}` };
}

async function native(): Promise<{ project: Project; daemon: Daemon; models: FakeModels }> {
  const models = await fakeModels(anthropicWire, answer);
  const project = await testProject({
    ".aegis.yaml": nativeConfig(models, { api: "anthropic", permission: "write" }),
  });
  return { project, daemon: await project.start(), models };
}

describe("steering", () => {
  it("a message joins the turn in progress, and both end with it", async () => {
    const project = await testProject();
    const { client } = await project.start();
    const session = await createSession(client, { handle: "calm-moore" });
    const first = await say(client, session.id, "hold one");
    await hasSaid(client, session.id, "holding one");
    const steering = say(client, session.id, "and this", { mode: "steer" });
    await waitUntil("it is admitted", async () => (await eventsOf(client, "message.admitted")).length === 2);
    await project.open("one");
    const second = await steering;
    expect(second).toMatchObject({ outcome: "steered", text: "joined the turn of calm-moore" });
    expect(await answerTo(client, second)).toBe("you said: and this");
    expect(await endings(client, session.id)).toEqual(["completed"]);
    const [one, two] = [await message(client, first.message), await message(client, second.message)];
    expect(two).toMatchObject({ status: "done", turn: one.turn });
  });

  it("a message that a kill keeps from the turn is answered by the next, once", async () => {
    const project = await testProject();
    const first = await project.start();
    const session = await createSession(first.client, { handle: "calm-moore" });
    await say(first.client, session.id, "hold one");
    await hasSaid(first.client, session.id, "holding one");
    const steering = say(first.client, session.id, "and this", { mode: "steer" }).catch(() => null);
    await waitUntil("it is admitted", async () => (await eventsOf(first.client, "message.admitted")).length === 2);
    await first.kill();
    await steering;
    await project.open("one");
    const { client } = await project.start();
    const [, admitted] = await eventsOf(client, "message.admitted", session.id);
    if (admitted === undefined) throw new Error("the message is gone");
    expect(await answerTo(client, { message: admitted.data.message.id, session: session.id })).toBe(
      "you said: and this",
    );
    expect(await endings(client, session.id)).toEqual(["lost", "completed", "completed"]);
  });
});

describe("a fork", () => {
  it("begins with what the other remembers, also after a restart, and goes its own way", async () => {
    const { project, daemon, models } = await native();
    const { client } = daemon;
    const origin = await createSession(client, { handle: "calm-moore" });
    await talk(client, origin.id, "the number is 42");
    const { session: fork } = await client.call("forkSession", {
      path: { session: "calm-moore" },
      body: { handle: "keen-planck" },
    });
    expect(fork).toMatchObject({ handle: "keen-planck", forked_from: origin.id, agent: "dev" });
    await talk(client, origin.id, "the origin goes on");
    await daemon.kill();
    const next = await project.start();
    expect(await talk(next.client, fork.id, "which number?")).toBe("heard the number is 42, which number?");
    expect(models.requests).toHaveLength(3);
  });

  it("is refused on a harness that cannot, with what to do instead", async () => {
    const { client } = await (await testProject()).start();
    const session = await createSession(client, { handle: "calm-moore" });
    await talk(client, session.id, "hello");
    await expect(client.call("forkSession", { path: { session: session.id }, body: {} })).rejects.toMatchObject({
      code: "invalid",
      message: expect.stringContaining('"scripted", which cannot fork'),
      hint: expect.stringMatching(/start a new session.*claude-code, codex, native/),
    });
  });
});

describe("an image", () => {
  it("reaches the model with its message, is kept as a file, and is still seen after a kill", async () => {
    const { project, daemon, models } = await native();
    const session = await createSession(daemon.client, { handle: "calm-moore" });
    const receipt = await say(daemon.client, session.id, "look", { attachments: [{ name: "dot.png", data: pixel }] });
    await answerTo(daemon.client, receipt);
    expect(JSON.stringify(models.requests[0]?.body)).toContain(pixel);
    const row = await message(daemon.client, receipt.message);
    expect(row.attachments).toMatchObject([{ kind: "image", name: "dot.png", media_type: "image/png" }]);
    const folder = join(project.dir, ".aegis", "state", "attachments");
    const [file] = await readdir(folder);
    expect(file).toBe(`${row.attachments[0]?.sha256}.png`);
    expect((await readFile(join(folder, file ?? ""))).toString("base64")).toBe(pixel);
    const path = { message: receipt.message, sha256: row.attachments[0]?.sha256 ?? "" };
    expect(await daemon.client.call("getAttachment", { path })).toMatchObject({ data: pixel });
    const other = daemon.client.call("getAttachment", { path: { ...path, sha256: "0".repeat(64) } });
    await expect(other).rejects.toMatchObject({ code: "not_found" });
    await daemon.kill();
    const next = await project.start();
    await talk(next.client, session.id, "and again");
    expect(JSON.stringify(models.requests.at(-1)?.body)).toContain(pixel);
  });

  it("is refused where the agent cannot see it", async () => {
    const { client } = await (await testProject()).start();
    const session = await createSession(client, { handle: "calm-moore" });
    await expect(say(client, session.id, "look", { attachments: [{ data: pixel }] })).rejects.toMatchObject({
      code: "invalid",
      hint: expect.stringContaining("claude-code"),
    });
  });
});
