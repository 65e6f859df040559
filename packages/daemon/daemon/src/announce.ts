/** Publishes the daemon's address for clients, and publishes it again if the file is deleted. */
import { randomBytes } from "node:crypto";
import {
  type DaemonFile,
  processStartTime,
  readDaemonFile,
  removeDaemonFile,
  writeDaemonFile,
} from "@aegis/lib/daemon-file.ts";
import { errorText, type Logger } from "@aegis/lib/log.ts";
import type { HeldState } from "@aegis/project/state/hold.ts";

export type AnnounceOptions = {
  root: string;
  url: string;
  token: string;
  version: string;
  state: Pick<HeldState, "key" | "lock" | "restoreMarker">;
  log: Logger;
};

export type Announcement = {
  /** Restores deleted files that clients need to find the daemon or that hold its lock. Never rejects. */
  restore(): Promise<void>;
  withdraw(): Promise<void>;
};

export async function announce(options: AnnounceOptions): Promise<Announcement> {
  const { root, url, token, version, state, log } = options;
  const { key, lock } = state;
  const id = randomBytes(8).toString("hex");
  const start_time = processStartTime(process.pid) ?? "";
  const file: DaemonFile = { pid: process.pid, start_time, url, token, version, id };
  await writeDaemonFile(root, file, key);
  return {
    async restore() {
      try {
        const found = await readDaemonFile(root).catch(() => null);
        const lost = found?.id !== id;
        if (lost) await writeDaemonFile(root, file, key);
        const restored = [lost, await state.restoreMarker(), lock.restore()];
        if (restored.includes(true))
          log.warn("files of the running daemon were deleted or replaced; they are back in their place");
      } catch (error) {
        log.warn("deleted files of the running daemon could not be restored", { error: errorText(error) });
      }
    },
    async withdraw() {
      await removeDaemonFile(root, id);
    },
  };
}
