// @module-tag slow
/** Images that one node receives reach a session of another; the fork of a session stays where its memory is. */
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { noPostgres } from "../helpers/cluster.ts";
import { nativeConfig } from "../helpers/fake-models/config.ts";
import { openaiChatWire } from "../helpers/fake-models/openai-chat.ts";
import { type FakeRequest, fakeModels } from "../helpers/fake-models/server.ts";
import { filePostgres } from "../helpers/file-postgres.ts";
import { type ClusterNode, clientOf, startNodes } from "../helpers/nodes.ts";
import { scaled } from "../helpers/slowness.ts";
import { answerTo, createSession, message, say, talk } from "../helpers/talk.ts";
import { waitUntil } from "../helpers/wait-until.ts";

const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

const answer = ({ transcript }: FakeRequest) => ({
  text: `heard ${transcript.filter((line) => line.startsWith("user: ")).length}`,
});

describe.skipIf(noPostgres !== null)("a file of a message", { timeout: scaled(120_000) }, () => {
  const postgres = filePostgres();

  it("is where the session is, also after its node is lost", async () => {
    const models = await fakeModels(openaiChatWire, answer);
    const files = { ".aegis.yaml": nativeConfig(models) };
    const [one, two] = (await startNodes(postgres.url, files, ["one", "two"])) as [ClusterNode, ClusterNode];
    const [at1, at2] = [await clientOf(one), await clientOf(two)];
    const session = await createSession(at1, { handle: "far" });
    const receipt = await say(at2, "far", "look", { attachments: [{ name: "dot.png", data: pixel }] });
    expect(await answerTo(at2, receipt)).toBe("heard 1");
    expect(JSON.stringify(models.requests.at(-1)?.body)).toContain(pixel);
    const folder = join(one.root, ".aegis", "state", "attachments");
    const { attachments } = await message(at2, receipt.message);
    expect(await readdir(folder)).toEqual([`${attachments[0]?.sha256}.png`]);
    const path = { message: receipt.message, sha256: attachments[0]?.sha256 ?? "" };
    expect(await at1.call("getAttachment", { path })).toMatchObject({ data: pixel });

    const { session: twin } = await at2.call("forkSession", { path: { session: "far" }, body: { handle: "twin" } });
    expect(twin).toMatchObject({ node: "one", forked_from: session.id });
    expect(await talk(at2, "twin", "and now?")).toBe("heard 2");

    // One more image, sent at the node that is killed, is seen where the session goes on.
    const second = await say(at1, "far", "and this", { attachments: [{ name: "dot.png", data: pixel }] });
    await answerTo(at2, second);
    process.kill((await one.daemonPid()) ?? 0, "SIGKILL");
    const nodeOf = async () => (await at2.call("getSession", { path: { session: "far" } })).session.node;
    await waitUntil("far has moved", async () => (await nodeOf()) === "two", 60_000);
    expect(await talk(at2, "far", "still there?")).toBe("heard 3");
    expect(JSON.stringify(models.requests.at(-1)?.body).split(pixel)).toHaveLength(3);
  });
});
