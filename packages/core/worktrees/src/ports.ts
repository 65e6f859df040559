/** Gives each worktree a range of ports. */
import { createHash } from "node:crypto";
import { createServer } from "node:net";

const first = 20_000;
const ranges = 400;
const rangeSize = 100;

/** The ranges of a project begin at different places, so that the daemons of two projects rarely choose the same. */
export function portsFrom(root: string): number {
  return createHash("sha256").update(root).digest().readUInt16BE(0) % ranges;
}

/** The first port of a range in which every port can be opened now; null if there is none. */
export async function freePort(start: number, count: number, taken: ReadonlySet<number>): Promise<number | null> {
  for (let step = 0; step < ranges; step++) {
    const port = first + ((start + step) % ranges) * rangeSize;
    if (!taken.has(port) && (await allFree(port, count))) return port;
  }
  return null;
}

async function allFree(port: number, count: number): Promise<boolean> {
  for (let next = port; next < port + count; next++) if (!(await isFree(next))) return false;
  return true;
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", () => resolve(false));
    server.listen(port, "127.0.0.1", () => server.close(() => resolve(true)));
  });
}
