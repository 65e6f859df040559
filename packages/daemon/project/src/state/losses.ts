/**
 * `.aegis/state/lost.json`: databases of this project that were lost and not restored. A daemon reports them until a
 * person has run `aegis store salvage` or `aegis store forget`.
 */
import { readFile, realpath } from "node:fs/promises";
import { join } from "node:path";
import { storeLossSchema } from "@aegis/contract/api-parts.ts";
import { stateDir, storePath } from "@aegis/lib/daemon-file.ts";
import { isErrno, writeAtomic } from "@aegis/lib/files.ts";
import type { StoreLoss } from "@aegis/store/store.ts";
import { z } from "zod";
import { looksLikeDatabase, sizeOf } from "./fingerprint.ts";
import { isThere } from "./folder.ts";
import { judgeState } from "./judge.ts";

/** `settled_at`: when a person restored or forgot the losses before. */
const fileSchema = z.object({ losses: z.array(storeLossSchema), settled_at: z.number().optional() });
type LossFile = z.infer<typeof fileSchema>;
/** Older entries add no information. */
const mostLosses = 20;

/** Oldest first. An unreadable file counts as empty, because it only repeats what the log contains. */
export async function readLosses(stateDir: string): Promise<StoreLoss[]> {
  return (await readLossFile(stateDir)).losses;
}

/** What is older than this was lost before and is known. */
export async function newestLossAt(stateDir: string): Promise<number> {
  const { losses, settled_at = 0 } = await readLossFile(stateDir);
  return Math.max(settled_at, ...losses.map(({ at }) => at));
}

async function readLossFile(stateDir: string): Promise<LossFile> {
  try {
    return fileSchema.parse(JSON.parse(await readFile(pathOf(stateDir), "utf8")), { jitless: true });
  } catch (error) {
    if (isErrno(error, "ENOENT", "ENOTDIR") || !isErrno(error)) return { losses: [] };
    throw error;
  }
}

/** Idempotent: a start that was interrupted before it created the new database finds the same loss again. */
export async function noteLoss(stateDir: string, loss: StoreLoss): Promise<void> {
  const before = await readLosses(stateDir);
  const last = before.at(-1);
  const same = last?.kind === loss.kind && last.set_aside === loss.set_aside && loss.kind !== "damaged";
  const losses = [...(same ? before.slice(0, -1) : before), loss].slice(-mostLosses);
  await writeAtomic(pathOf(stateDir), `${JSON.stringify({ losses }, null, 2)}\n`, { mode: 0o600 });
}

export async function forgetLosses(stateDir: string, at: number): Promise<void> {
  if ((await readLosses(stateDir)).length === 0) return;
  const settled: LossFile = { losses: [], settled_at: at };
  await writeAtomic(pathOf(stateDir), `${JSON.stringify(settled, null, 2)}\n`, { mode: 0o600 });
}

function pathOf(stateDir: string): string {
  return join(stateDir, "lost.json");
}

/** Includes the loss that the next daemon would notice. Empty for state that is not the user's. */
export async function lossesWithoutDaemon(folder: string, home: string): Promise<StoreLoss[]> {
  const root = await realpath(folder);
  const verdict = await judgeState(root, home);
  if (verdict.kind !== "own") return [];
  const losses = await readLosses(stateDir(root));
  const path = storePath(root);
  if (verdict.entry.file === null || (await looksLikeDatabase(path))) return losses;
  const found = { at: Date.now(), set_aside: null };
  if (!(await isThere(path))) return [...losses, { ...found, kind: "missing", reason: null }];
  if ((await sizeOf(path)) === 0) return [...losses, { ...found, kind: "emptied", reason: null }];
  return [...losses, { ...found, kind: "damaged", reason: "file is not a database" }];
}
