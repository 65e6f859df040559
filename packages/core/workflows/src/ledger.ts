/**
 * Writes readable files beside the database: `<run>/meta.json` describes a run, `<run>/ledger.jsonl` lists its steps.
 * They are derived from the event log, rewritten completely each time and never read back.
 */
import { join } from "node:path";
import type { Event } from "@aegis/contract/event.ts";
import { isId, type RunId } from "@aegis/contract/ids.ts";
import { Follower } from "@aegis/events/follower.ts";
import { isErrno, makePrivateDirsBelow, writeAtomic } from "@aegis/lib/files.ts";
import { errorText, type Logger } from "@aegis/lib/log.ts";
import type { Store } from "@aegis/store/store.ts";

export type LedgerOptions = {
  store: Store;
  /** The state folder, which is not created again if it is deleted. */
  dir: string;
  log: Logger;
};

const kinds: readonly Event["type"][] = ["run.checkpoint", "run.resumed", "run.parked", "run.ended"];
const mostEntries = 100_000;

/** Starts following the store. Closing writes what is missing. */
export async function createLedgers(options: LedgerOptions): Promise<{ close(): Promise<void> }> {
  const behind = new Set<RunId>();
  let isFailing = false;

  const work = async () => {
    for (const run of behind) {
      behind.delete(run);
      try {
        await writeLedger(options, run);
      } catch (error) {
        if (!isFailing) options.log.warn("the ledger of a run cannot be written", { run, error: errorText(error) });
        isFailing = true;
      }
    }
  };
  const follower = new Follower({
    store: options.store,
    types: ["run.started", ...kinds],
    note: (events) => {
      for (const event of events) {
        const { run } = event.data as { run: RunId };
        behind.add(run);
      }
    },
    isBehind: () => behind.size > 0,
    work,
  });
  // The daemon may have stopped between a run's last event and its file.
  for (const run of await options.store.read.runs.list({ limit: 100 })) behind.add(run.id);
  follower.wake();
  return follower;
}

async function writeLedger({ store, dir }: LedgerOptions, id: RunId): Promise<void> {
  const run = await store.read.runs.get(id);
  if (!run || !isId("run", id)) return;
  const events = await store.read.events.list({ run: id, types: kinds, limit: mostEntries });
  const entries = events.map(
    (event) => `${JSON.stringify({ at: new Date(event.at).toISOString(), ...entryOf(event) })}\n`,
  );
  const { workflow, host, code, forked_from, created_at } = run;
  const [begun] = await store.read.events.list({ run: id, types: ["run.started"], limit: 1 });
  const args = begun?.type === "run.started" ? begun.data.args : {};
  const meta = {
    id,
    name: workflow,
    host,
    kwargs: args,
    code,
    forked_from,
    created_at: new Date(created_at).toISOString(),
  };
  try {
    const folder = await makePrivateDirsBelow(dir, id);
    await writeAtomic(join(folder, "meta.json"), `${JSON.stringify(meta, null, 2)}\n`, { mode: 0o600 });
    await writeAtomic(join(folder, "ledger.jsonl"), entries.join(""), { mode: 0o600 });
  } catch (error) {
    // A deleted project must stay deleted.
    if (!isErrno(error, "ENOENT")) throw error;
  }
}

function entryOf(event: Event): Record<string, unknown> {
  switch (event.type) {
    case "run.checkpoint":
      return { kind: "checkpoint", name: event.data.name, payload: event.data.payload };
    case "run.resumed":
      return { kind: "resumed", steps: event.data.steps };
    case "run.parked":
      return { kind: "parked", reason: event.data.reason, detail: event.data.detail };
    case "run.ended": {
      const { status, result, error } = event.data;
      return status === "ok" ? { kind: "finished", result } : { kind: "errored", error: error?.message, status };
    }
    default:
      return { kind: event.type };
  }
}
