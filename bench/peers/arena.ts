/** Where the peers are measured: a folder, a database for those that need one, and processes that end with the run. */
import { mkdir, mkdtemp, readdir, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { PeerName } from "./peer.ts";
import { startPostgres } from "./postgres.ts";
import { Subject } from "./subjects.ts";

export type Arena = {
  peers: readonly PeerName[];
  quick: boolean;
  /** A folder of a peer's own. */
  folder(peer: PeerName, round: string): Promise<string>;
  /** Starts a peer in that folder, in a process of its own. */
  start(peer: PeerName, dir: string, options?: { stepMs?: number; syncAll?: boolean }): Subject;
  /** What the peer has on disk by now. */
  bytesOf(peer: PeerName, dir: string): Promise<number>;
  /** A line of the results. */
  say(line: string): void;
  /** What is going on. */
  progress(line: string): void;
};

export async function openArena(
  chosen: Pick<Arena, "peers" | "quick">,
  scope: AsyncDisposableStack,
  signal: AbortSignal,
): Promise<Arena> {
  const root = await mkdtemp(join(tmpdir(), "aegis-peers-"));
  scope.defer(() => rm(root, { recursive: true, force: true, maxRetries: 3 }));
  const postgres = chosen.peers.includes("dbos") ? await startPostgres(root, scope) : null;
  return {
    ...chosen,
    async folder(peer, round) {
      const path = join(root, `${round}-${peer}`);
      await mkdir(path, { recursive: true });
      return path;
    },
    start: (peer, dir, { stepMs = 0, syncAll = false } = {}) =>
      new Subject({ peer, dir, url: postgres?.url ?? "", stepMs, syncAll }, signal),
    bytesOf: (peer, dir) => (peer === "dbos" && postgres ? postgres.bytes() : sizeOf(dir)),
    say: (line) => process.stdout.write(`${line}\n`),
    progress: (line) => process.stderr.write(`${line}\n`),
  };
}

async function sizeOf(dir: string): Promise<number> {
  const names = await readdir(dir);
  const sizes = await Promise.all(names.map(async (name) => (await stat(join(dir, name))).size));
  return sizes.reduce((sum, size) => sum + size, 0);
}
