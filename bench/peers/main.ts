/**
 * Our engine beside others, in one run: how fast steps are (W1), what a kill costs (W2), what a thousand questions that
 * wait for a person cost (W3). Tables in Markdown go to the standard output, progress to the error output.
 *
 *   npm run bench:peers -- [--quick] [--only speed|crash|asks]… [--peer aegis|dbos|langgraph|mastra]…
 */
import { availableParallelism, loadavg } from "node:os";
import { parseArgs } from "node:util";
import { didYouMean } from "@aegis/lib/nearest.ts";
import { openArena } from "./arena.ts";
import { asks } from "./asks.ts";
import { crashes } from "./crashes.ts";
import { peerNames } from "./peer.ts";
import { speed } from "./speed.ts";

const parts = { speed, crash: crashes, asks } as const;
const partNames = Object.keys(parts) as (keyof typeof parts)[];

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      quick: { type: "boolean", default: false },
      only: { type: "string", multiple: true, default: [] },
      peer: { type: "string", multiple: true, default: [] },
    },
  });
  const chosen = choose("--only", values.only, partNames);
  const peers = choose("--peer", values.peer, peerNames);
  // What was started must end, also when the run is cut: PostgreSQL would stay.
  const stop = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => stop.abort(new Error("stopped")));
  await using scope = new AsyncDisposableStack();
  const arena = await openArena({ peers, quick: values.quick }, scope, stop.signal);
  arena.say(conditions());
  for (const part of chosen) await parts[part](arena);
}

/** All of them, or those that were named. */
function choose<Name extends string>(option: string, wanted: readonly string[], names: readonly Name[]): Name[] {
  const unknown = wanted.find((word) => !names.some((name) => name === word));
  if (unknown !== undefined) {
    throw new Error(`${option} ${unknown}: expected one of ${names.join(", ")}${didYouMean(unknown, names)}`);
  }
  return names.filter((name) => wanted.length === 0 || wanted.includes(name));
}

/** What the numbers depend on. */
function conditions(): string {
  const day = new Date().toISOString().slice(0, 10);
  const load = (loadavg()[0] ?? 0).toFixed(1);
  return `${day}, Node ${process.versions.node}, ${availableParallelism()} cores, load ${load} before the run.`;
}

try {
  await main();
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : error}\n`);
  process.exitCode = 1;
}
