/** Pictures that come with messages. */
import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { imageMaxBytes, imagesMaxCount } from "@aegis/contract/message.ts";
import { DriverTable } from "@aegis/drivers/driver-table.ts";
import { gated, testDriver, testRuntime } from "@aegis/test/helpers/runtime.ts";
import { tempDir } from "@aegis/test/helpers/temp-dir.ts";
import { waitUntil } from "@aegis/test/helpers/wait-until.ts";
import { describe, expect, it } from "vitest";
import { Attachments } from "../../src/inbox/attachments.ts";

const session = { handle: "calm-moore", harness: "scripted" };
const png = Buffer.from("\x89PNG\r\n\x1a\nrest", "latin1");
const upload = (data: Buffer, name = "shot.png") => ({ name, data: data.toString("base64") });

async function attachments(images = true) {
  const dir = join(await tempDir(), "attachments");
  const drivers = new DriverTable([testDriver(gated().reply, { images })]);
  return { dir, kept: new Attachments({ dir, drivers }) };
}

describe("a picture", () => {
  it("is kept as a private file that is named by its content", async () => {
    const { dir, kept } = await attachments();
    const [one, same] = await kept.keep(session, [upload(png), upload(png, "again.png")]);
    expect(one).toMatchObject({ kind: "image", name: "shot.png", media_type: "image/png", bytes: png.length });
    expect(same?.sha256).toBe(one?.sha256);
    if (one === undefined) throw new Error("nothing was kept");
    const path = kept.pathOf(one);
    expect(path).toBe(join(dir, `${one.sha256}.png`));
    expect(await readFile(path)).toEqual(png);
    expect((await stat(path)).mode & 0o777).toBe(0o600);
  });

  it.each([
    ["\xff\xd8\xff\xe0 jpeg", "image/jpeg"],
    ["GIF89a gif", "image/gif"],
    ["RIFF0000WEBPVP8 ", "image/webp"],
  ])("is known by its first bytes: %j", async (bytes, media_type) => {
    const { kept } = await attachments();
    expect(await kept.keep(session, [upload(Buffer.from(bytes, "latin1"))])).toMatchObject([{ media_type }]);
  });

  it("that is none is refused", async () => {
    const { kept } = await attachments();
    const text = upload(Buffer.from("#!/bin/sh"), "shot.png");
    await expect(kept.keep(session, [text])).rejects.toMatchObject({ code: "invalid", hint: /PNG, JPEG/ });
  });

  it("that is too large, and too many of them, are refused", async () => {
    const { kept } = await attachments();
    const large = upload(Buffer.concat([png, Buffer.alloc(imageMaxBytes)]));
    await expect(kept.keep(session, [large])).rejects.toMatchObject({ code: "too_large" });
    const many = Array.from({ length: imagesMaxCount + 1 }, () => upload(png));
    await expect(kept.keep(session, many)).rejects.toMatchObject({ code: "too_large" });
    const heavy = upload(Buffer.concat([png, Buffer.alloc(imageMaxBytes - 100)]));
    await expect(kept.keep(session, [heavy, heavy])).rejects.toMatchObject({ code: "too_large" });
  });

  it("is refused on a harness that cannot see it, with those that can", async () => {
    const { kept } = await attachments(false);
    await expect(kept.keep(session, [upload(png)])).rejects.toMatchObject({
      code: "invalid",
      message: '"calm-moore" runs on "scripted", which does not accept images',
    });
    expect(await kept.keep(session, [])).toEqual([]);
  });

  it("reaches the agent with its message, and only its name is in the row", async () => {
    const driver = testDriver(gated().reply, { images: true });
    const runtime = await testRuntime(await tempDir(), driver);
    const created = await runtime.sessions.create({ handle: "calm-moore" });
    const row = await runtime.sessions.resolve(created.session.id);
    const kept = await runtime.attachments.keep(row, [upload(png)]);
    const { message } = await runtime.inbox.admit({
      session: row.id,
      sender: { kind: "human" },
      body: "look",
      attachments: kept,
    });
    await waitUntil("the turn runs", () => driver.turns.length === 1);
    const [image] = driver.turns[0]?.prompt.images ?? [];
    expect(await readFile(image?.path ?? "")).toEqual(png);
    expect(JSON.stringify(await runtime.inbox.get(message))).not.toContain(png.toString("base64"));
    expect((await runtime.inbox.get(message)).attachments).toEqual(kept);
  });
});
