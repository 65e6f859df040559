/** W3: many runs that wait for a person, a kill, and all of them answered after the next start. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { newId } from "@aegis/contract/ids.ts";
import type { Arena } from "./arena.ts";
import { table } from "./table.ts";

export async function asks({ peers, quick, folder, start, say, progress }: Arena): Promise<void> {
  const count = quick ? 50 : 1_000;
  const rows: string[][] = [];
  for (const peer of peers) {
    progress(`asks: ${peer}`);
    const dir = await folder(peer, "asks");
    const ids = Array.from({ length: count }, () => newId("run", Date.now()));
    const first = start(peer, dir);
    const parked = await first.obey({ do: "park", ids });
    await first.kill();
    const second = start(peer, dir);
    const { openMs } = await second.heard("open");
    const answered = await second.obey({ do: "answer", ids });
    await second.kill();
    const lines = (await readFile(join(dir, "effects"), "utf8")).trim().split("\n");
    const once = ids.filter((id) =>
      [0, 1].every((step) => lines.filter((line) => line === `${id} ${step}`).length === 1),
    );
    rows.push([
      peer,
      `${((count * 1000) / parked.ms).toFixed(0)} /s`,
      `${parked.rssMb.toFixed(0)} MB`,
      `${openMs.toFixed(0)} ms`,
      `${((count * 1000) / answered.ms).toFixed(0)} /s`,
      `${once.length} of ${count}`,
    ]);
  }
  const columns = ["engine", "parked", "RSS then", "open again", "answered", "each effect once"];
  say(table(`W3, ${count} runs that wait for an answer over a kill`, columns, rows));
}
