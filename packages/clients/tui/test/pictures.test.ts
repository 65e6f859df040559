import type { Client } from "@aegis/client/client.ts";
import { message } from "@aegis/test/helpers/rows.ts";
import { sampleSessions } from "@aegis/test/helpers/sample-team.ts";
import { resetCapabilitiesCache, setCapabilities } from "@earendil-works/pi-tui/dist/terminal-image.js";
import { afterEach, expect, it } from "vitest";
import { cropImages, imageProtocol, Pictures, withoutImages } from "../src/pictures.ts";

/** A PNG header that says 90 × 180 pixels, which is 10 × 10 cells. */
const png = Buffer.alloc(64);
png.write("\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "latin1");
png.writeUInt32BE(90, 16);
png.writeUInt32BE(180, 20);

afterEach(() => resetCapabilitiesCache());

it("knows the terminals that draw images", () => {
  expect(imageProtocol({ TERM: "xterm-kitty" })).toBe("kitty");
  expect(imageProtocol({ TERM_PROGRAM: "ghostty" })).toBe("kitty");
  expect(imageProtocol({ TERM: "xterm-kitty", TMUX: "/tmp/x" })).toBeNull();
  expect(imageProtocol({ TERM: "xterm-256color" })).toBeNull();
  expect(imageProtocol({ TERM_PROGRAM: "iTerm.app" })).toBeNull();
});

it("loads an image once, draws it, and keeps it above the last row and below dialogs", async () => {
  setCapabilities({ images: "kitty", trueColor: true, hyperlinks: false });
  const image = { kind: "image", name: "a.png", media_type: "image/png", bytes: 64, sha256: "a".repeat(64) } as const;
  const shown = message(sampleSessions.lucid, { attachments: [image] });
  const calls: unknown[] = [];
  const loaded = Promise.withResolvers<void>();
  const call = async (name: string, { path }: { path: unknown }) => {
    calls.push([name, path]);
    return { media_type: "image/png", data: png.toString("base64") };
  };
  const pictures = new Pictures({ url: "", call, open: call } as unknown as Client, () => loaded.resolve());
  expect(pictures.lines(shown, image, 80)).toBeNull();
  expect(pictures.lines(shown, image, 80)).toBeNull();
  await loaded.promise;
  expect(calls).toEqual([["getAttachment", { message: shown.id, sha256: image.sha256 }]]);
  const rows = pictures.lines(shown, image, 80) ?? [];
  expect(rows[0]).toContain("\u001b_Ga=T");
  expect(rows.length).toBeGreaterThan(3);
  const cut = cropImages(["text", ...rows].slice(0, 4));
  expect(cut[0]).toBe("text");
  expect(cut[1]).toMatch(/,r=3[,;]/);
  expect(withoutImages(rows).join("")).toBe("");
  expect(pictures.lines(shown, { ...image, sha256: "b".repeat(64), media_type: "image/gif" }, 80)).toBeNull();
});
