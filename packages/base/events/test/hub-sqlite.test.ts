import { join } from "node:path";
import { systemClock } from "@aegis/lib/clock.ts";
import { silentLogger } from "@aegis/lib/log.ts";
import { openSqliteStore } from "@aegis/store-sqlite/store.ts";
import { tempDir } from "@aegis/test/helpers/temp-dir.ts";
import { expect, onTestFinished, test } from "vitest";
import { EventHub } from "../src/hub.ts";
import { notice } from "./memory-events.ts";

test("on the embedded store, subscribers that join while events are written miss none", async () => {
  const folder = await tempDir();
  const store = await openSqliteStore({ path: join(folder, "aegis.db"), clock: systemClock, log: silentLogger });
  onTestFinished(() => store.close());
  const hub = new EventHub(store, { page: 7 });
  const total = 300;
  const stop = new AbortController();

  const follow = async (after: number): Promise<number[]> => {
    const seqs: number[] = [];
    for await (const item of hub.subscribe({ after, live: false, signal: stop.signal })) {
      if (item.kind === "event") seqs.push(item.event.seq);
      if (seqs.at(-1) === total) break;
    }
    return seqs;
  };

  const followers: Promise<number[]>[] = [];
  for (let i = 0; i < total; i += 3) {
    const commits = Array.from({ length: 3 }, (_, j) =>
      store.transact(async (tx) => void (await tx.events.append(notice(`${i + j}`), 1))),
    );
    if (i % 30 === 0) followers.push(follow(0), follow(await hub.lastSeq()));
    await Promise.all(commits);
  }
  for (const seqs of await Promise.all(followers)) {
    const first = seqs[0] ?? 0;
    expect(seqs).toEqual(Array.from({ length: total - first + 1 }, (_, i) => first + i));
  }
});
