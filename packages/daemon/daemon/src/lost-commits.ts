/**
 * Finds commits that the embedded database has lost. A transcript is written after the commit of its events, so a
 * transcript that is ahead of the database shows that its newest commits are gone: its write-ahead log was removed after
 * a crash, or an older copy was put in its place.
 */
import { open, readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { readTail } from "@aegis/events/jsonl-tail.ts";
import type { Clock } from "@aegis/lib/clock.ts";
import { ifMissing } from "@aegis/lib/files.ts";
import { newestLossAt, noteLoss } from "@aegis/project/state/losses.ts";
import type { Store } from "@aegis/store/store.ts";

/** The newest events are in the files that were written last; times of files may be equal or a little off. */
const newestFiles = 16;

/** Records the loss, if there is one, so that `up`, `ps`, `status` and `doctor` report it. */
export async function noteLostCommits(stateDir: string, store: Store, clock: Clock): Promise<void> {
  const known = await store.read.events.lastSeq();
  const newest = await newestSeq(join(stateDir, "sessions"), await newestLossAt(stateDir));
  if (newest <= known) return;
  const reason = `the transcripts have events up to ${newest}, the database up to ${known}`;
  await noteLoss(stateDir, { at: clock.now(), kind: "behind", reason, set_aside: null });
}

/** Of the transcripts that were written after the last loss that is known. */
async function newestSeq(dir: string, since: number): Promise<number> {
  const names = (await readdir(dir).catch(ifMissing([]))).filter((name) => name.endsWith(".jsonl"));
  const files = await Promise.all(
    names.map(async (name) => ({ name, at: (await stat(join(dir, name)).catch(ifMissing(null)))?.mtimeMs ?? 0 })),
  );
  let newest = 0;
  const written = files.filter(({ at }) => at > since).sort((a, b) => b.at - a.at);
  for (const { name } of written.slice(0, newestFiles)) {
    await using file = await open(join(dir, name), "r");
    newest = Math.max(newest, (await readTail(file, (await file.stat()).size)).seq);
  }
  return newest;
}
