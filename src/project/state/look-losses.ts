/** Reports lost databases without a running daemon. Read-only. */
import { realpath } from "node:fs/promises";
import { stateDir, storePath } from "../../lib/daemon-file.ts";
import type { StoreLoss } from "../../store/store.ts";
import { looksLikeDatabase, sizeOf } from "./fingerprint.ts";
import { isThere } from "./folder.ts";
import { judgeState } from "./judge.ts";
import { readLosses } from "./losses.ts";

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
