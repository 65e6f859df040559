/** How long a command takes that people and scripts wait for, against a Node that does nothing. */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Bench } from "../bench.ts";
import { startDaemon } from "../daemon.ts";
import { compareRounds, elapsed, figure, interleave } from "../measure.ts";

export const cli: Bench = {
  name: "cli",
  about: "wall time of `aegis --version` and `aegis status`, against `node -e 0`",
  async run(context) {
    const { root, env } = await startDaemon(context);
    const node = (...argv: string[]) =>
      elapsed(() => promisify(execFile)(process.execPath, argv, { cwd: root, env, signal: context.signal }));
    const entry = join(context.dist, "cli.js");
    const times = await interleave(
      {
        node: () => node("-e", "0"),
        version: () => node(entry, "--version"),
        status: () => node(entry, "status"),
      },
      context.quick ? 5 : 20,
      context.signal,
    );
    const version = compareRounds(times.version, times.node);
    const status = compareRounds(times.status, times.node);
    const floor = { unit: "ms", against: "node -e 0" } as const;
    return [
      figure({ name: "aegis --version", ...floor }, version, { ratioAtMost: 2 }),
      figure({ name: "aegis status", ...floor }, status, { ratioAtMost: 3 }),
    ];
  },
};
