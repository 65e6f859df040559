// @module-tag slow
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { fileURLToPath } from "node:url";
import { lines } from "@aegis/lib/jsonl.ts";
import { tempDir } from "@aegis/test/helpers/temp-dir.ts";
import { expect, it } from "vitest";
import { openStore } from "../../store/test/open-store.ts";

const writer = fileURLToPath(new URL("crash-writer.ts", import.meta.url));

/** Kills the writer in the middle of its work and gives back every id it had printed. */
async function writeAndKill(path: string, after: number): Promise<string[]> {
  const child = spawn(process.execPath, [writer, path], { stdio: ["ignore", "pipe", "inherit"] });
  const exited = once(child, "exit");
  const acknowledged: string[] = [];
  for await (const line of lines(child.stdout)) {
    // The last line may be cut by the kill.
    if (line.length === 30) acknowledged.push(line);
    if (acknowledged.length === after) child.kill("SIGKILL");
  }
  expect(await exited).toEqual([null, "SIGKILL"]);
  return acknowledged;
}

it("keeps everything it had confirmed when the process is killed, over and over", async () => {
  const path = join(await tempDir(), "aegis.db");
  const acknowledged: string[] = [];
  for (const after of [1, 150, 700, 1_300]) acknowledged.push(...(await writeAndKill(path, after)));

  const { store, said } = await openStore(path);
  const sessions = await store.read.sessions.list();
  const found = (await Promise.all(sessions.map(({ id }) => store.read.messages.list(id)))).flat();
  const stored = new Set<string>(found.map((row) => row.id));
  expect(acknowledged.filter((id) => !stored.has(id))).toEqual([]);

  const events = await store.read.events.list({ types: ["message.admitted"], limit: 1_000_000 });
  expect(events.flatMap((event) => (event.type === "message.admitted" ? [event.data.message.id] : [])).sort()).toEqual(
    [...stored].sort(),
  );
  expect(said).toEqual([]);
  await store.close();
  const db = new DatabaseSync(path, { readOnly: true });
  expect({ ...db.prepare("PRAGMA integrity_check").get() }).toEqual({ integrity_check: "ok" });
  db.close();
});
