/** The files in which Gemini CLI keeps a conversation, before it loads one. */
import { mkdir, readdir, readFile, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { tempDir } from "@aegis/test/helpers/temp-dir.ts";
import { expect, test } from "vitest";
import { protectHistory } from "../../src/acp/recipes/gemini.ts";

const id = "12345678-aaaa-4bbb-8ccc-000000000000";
const head = JSON.stringify({ sessionId: id });
const message = JSON.stringify({ type: "user", content: "remember 42" });

async function chats(files: Record<string, string>): Promise<{ home: string; folder: string }> {
  const home = await tempDir();
  const folder = join(home, ".gemini", "tmp", "project", "chats");
  await mkdir(folder, { recursive: true });
  for (const [index, [name, content]] of Object.entries(files).entries()) {
    await writeFile(join(folder, name), content);
    await utimes(join(folder, name), 1000 + index, 1000 + index);
  }
  return { home, folder };
}

test("the file moves to a minute in which nothing starts; its empty copy goes", async () => {
  const { home, folder } = await chats({
    "session-2026-01-02T03-04-12345678.jsonl": `${head}\n${message}\n`,
    "session-2026-01-02T03-09-12345678.jsonl": `${head}\n`,
  });
  await protectHistory(home, id);
  expect(await readdir(folder)).toEqual(["session-2000-01-01T00-00-12345678.jsonl"]);
  expect(await readFile(join(folder, "session-2000-01-01T00-00-12345678.jsonl"), "utf8")).toContain("remember 42");
  await protectHistory(home, id);
  expect(await readdir(folder)).toHaveLength(1);
});

test("another conversation with the same beginning of its id is left alone", async () => {
  const other = `${JSON.stringify({ sessionId: "12345678-other" })}\n${message}\n`;
  const { home, folder } = await chats({ "session-2026-01-02T03-04-12345678.jsonl": other });
  await protectHistory(home, id);
  expect(await readdir(folder)).toEqual(["session-2026-01-02T03-04-12345678.jsonl"]);
});

test("no history is no problem", async () => {
  await protectHistory(await tempDir(), id);
});
