/**
 * Our engine beside others, in one run: how fast steps are (W1), what a kill costs (W2), what a thousand questions that
 * wait for a person cost (W3).
 *
 *   npm run bench:peers -- [--quick] [--only speed|crash|asks]… [--peer NAME]…
 */
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { asks } from "./asks.ts";
import { crashes } from "./crashes.ts";
import { type PeerName, peerNames } from "./peer.ts";
import { startPostgres } from "./postgres.ts";
import { speed } from "./speed.ts";

export type Arena = {
  peers: readonly PeerName[];
  quick: boolean;
  /** The address of the database of those that need one. */
  url: string;
  /** A fresh folder of a peer's own. */
  folder(peer: PeerName, round: string): Promise<string>;
  say(line: string): void;
  /** What is going on, on the error output: results alone are on the standard one. */
  progress(line: string): void;
};

const parts = { speed, crash: crashes, asks } as const;

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      quick: { type: "boolean", default: false },
      only: { type: "string", multiple: true, default: [] },
      peer: { type: "string", multiple: true, default: [] },
    },
  });
  const chosen = Object.keys(parts).filter((part) => values.only.length === 0 || values.only.includes(part));
  const peers = peerNames.filter((peer) => values.peer.length === 0 || values.peer.includes(peer));
  await using scope = new AsyncDisposableStack();
  const root = await mkdtemp(join(tmpdir(), "aegis-peers-"));
  scope.defer(() => rm(root, { recursive: true, force: true, maxRetries: 3 }));
  const url = peers.includes("dbos") ? await startPostgres(root, scope) : "";
  const arena: Arena = {
    peers,
    quick: values.quick,
    url,
    async folder(peer, round) {
      const path = join(root, `${round}-${peer}`);
      await mkdir(path, { recursive: true });
      return path;
    },
    say: (line) => process.stdout.write(`${line}\n`),
    progress: (line) => process.stderr.write(`${line}\n`),
  };
  for (const part of chosen) await parts[part as keyof typeof parts](arena);
}

await main();
