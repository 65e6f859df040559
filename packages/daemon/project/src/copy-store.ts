/**
 * Moves the data of a stopped project from the embedded database to PostgreSQL, or back. The copy is complete before
 * the original is renamed: after a crash the original or both exist, and the same command finishes the move.
 */
import { existsSync } from "node:fs";
import { rename } from "node:fs/promises";
import { basename, dirname } from "node:path";
import { AegisError } from "@aegis/contract/errors.ts";
import type { Environment } from "@aegis/lib/child-env.ts";
import { storePath } from "@aegis/lib/daemon-file.ts";
import { syncFolder } from "@aegis/lib/files.ts";
import { silentLogger } from "@aegis/lib/log.ts";
import { type CopyProgress, copyRows, type RawTable } from "@aegis/store/copy-rows.ts";
import { intoPostgres, lookAtPlace, outOfPostgres, setSchemaAside } from "@aegis/store-postgres/copy.ts";
import { Connection } from "@aegis/store-sqlite/connection.ts";
import { beginDatabase } from "@aegis/store-sqlite/identity.ts";
import { inspect, sideFiles } from "@aegis/store-sqlite/inspect.ts";
import { migrate, newestVersion } from "@aegis/store-sqlite/migrate.ts";
import { migrations } from "@aegis/store-sqlite/migrations/list.ts";
import { SqliteRows } from "@aegis/store-sqlite/raw.ts";
import { openSqliteStore } from "@aegis/store-sqlite/store.ts";
import type { ClusterSettings } from "./cluster.ts";
import { readCluster } from "./read-cluster.ts";
import { type HeldState, holdState, type StatePlace } from "./state/hold.ts";

export type CopyOptions = {
  to: "postgres" | "sqlite";
  env: Environment;
  harnesses: readonly string[];
  onProgress: (progress: CopyProgress) => void;
};

export type CopyReport = {
  to: CopyOptions["to"];
  /** Rows of each table; null if an earlier run of the command had copied them. */
  copied: Record<string, number> | null;
  /** Where the copy is. */
  where: string;
  /** The new name of the original. */
  set_aside: string | null;
};

/** Throws `ProjectTakenError` while a daemon runs here, and `conflict` while runs are unfinished. */
export async function copyStore(place: StatePlace, options: CopyOptions): Promise<CopyReport> {
  await using scope = new AsyncDisposableStack();
  const state = await holdState(place, scope);
  const cluster = await readCluster(place.root, options.env, options.harnesses);
  if (cluster === null)
    throw new AegisError("invalid", "there is no cluster section in the configuration", {
      hint: "it names the database; see docs/cluster.md. To move back, keep the section until the copy is done",
    });
  return options.to === "postgres"
    ? toPostgres(place, state, cluster, options)
    : toSqlite(place, state, cluster, options);
}

async function toPostgres(
  { root, clock }: StatePlace,
  state: HeldState,
  cluster: ClusterSettings,
  { onProgress }: CopyOptions,
): Promise<CopyReport> {
  const path = storePath(root);
  const found = await lookAtPlace(cluster);
  const report = { to: "postgres" as const, where: found.where };
  const finding = await inspect(path, newestVersion(migrations));
  if (finding.state === "damaged")
    throw new AegisError("unavailable", `the embedded database is damaged: ${finding.reason}`, {
      hint: "start the daemon without the cluster section once, and restore it with: aegis store salvage",
    });
  if (finding.state !== "ours") {
    if (found.version === 0) throw new AegisError("not_found", "there is no embedded database to copy");
    await state.left();
    return { ...report, copied: null, set_aside: null };
  }
  await settle(path, state, clock);
  const connection = new Connection(path, { readOnly: true });
  let copied: Record<string, number> | null = null;
  try {
    const rows = new SqliteRows(connection);
    refuseUnfinished(connection.all("SELECT id FROM runs WHERE status IN ('running', 'parked') ORDER BY id"));
    const mark = `aegis store copy: ${state.owner.id}, ${rows.count("events")} events`;
    if (found.version !== 0 && found.mark !== mark)
      throw new AegisError(
        "conflict",
        `${found.where} already holds a project with ${found.sessions} sessions and ${found.events} events`,
        { hint: "choose another cluster.project, or delete that schema if you do not need it" },
      );
    if (found.version === 0)
      copied = await intoPostgres(cluster, rows.tables(), mark, (target) => copyRows(rows, target, onProgress));
  } finally {
    connection.close();
  }
  const target = freeName(`${path}.copied-${stampOf(clock)}`);
  for (const suffix of ["", ...sideFiles]) if (existsSync(path + suffix)) await rename(path + suffix, target + suffix);
  await syncFolder(dirname(path));
  await state.left();
  return { ...report, copied, set_aside: basename(target) };
}

async function toSqlite(
  { root, clock }: StatePlace,
  state: HeldState,
  cluster: ClusterSettings,
  { onProgress }: CopyOptions,
): Promise<CopyReport> {
  const path = storePath(root);
  const found = await lookAtPlace(cluster);
  const report = { to: "sqlite" as const, where: path };
  const exists = (await inspect(path, newestVersion(migrations))).state === "ours";
  if (found.version === 0) {
    if (exists) return { ...report, copied: null, set_aside: null };
    throw new AegisError("not_found", `there is no project in ${found.where}`);
  }
  const tables = embeddedTables();
  let copied: Record<string, number> | null = null;
  if (exists) await requireSame(path, cluster, tables);
  else
    await beginDatabase(path, state.owner, async (draft) => {
      const connection = new Connection(draft);
      try {
        copied = await outOfPostgres(cluster, tables, async (source) => {
          refuseUnfinished(await source.unfinishedRuns());
          connection.exec("BEGIN IMMEDIATE; PRAGMA defer_foreign_keys = ON");
          const counts = await copyRows(source, new SqliteRows(connection), onProgress);
          connection.exec("COMMIT; PRAGMA wal_checkpoint(TRUNCATE)");
          return counts;
        });
      } finally {
        connection.close();
      }
    });
  await state.closed();
  return { ...report, copied, set_aside: await setSchemaAside(cluster, stampOf(clock)) };
}

/** Brings the file to the newest schema and moves its log into it. */
async function settle(path: string, { owner, losses }: HeldState, clock: StatePlace["clock"]): Promise<void> {
  const store = await openSqliteStore({ path, clock, log: silentLogger, owner, losses });
  await store.close();
}

function embeddedTables(): RawTable[] {
  const model = new Connection(":memory:");
  try {
    migrate(model, migrations);
    return new SqliteRows(model).tables();
  } finally {
    model.close();
  }
}

/** A crash after the copy leaves both: they are equal, or one was used since. */
async function requireSame(path: string, cluster: ClusterSettings, tables: readonly RawTable[]): Promise<void> {
  const connection = new Connection(path, { readOnly: true });
  try {
    const own = new SqliteRows(connection);
    const differs = await outOfPostgres(cluster, tables, async (source) => {
      for (const { name } of tables)
        if (name !== "identity" && (await source.count(name)) !== own.count(name)) return name;
      return null;
    });
    if (differs !== null)
      throw new AegisError("conflict", `this folder already has an embedded database, and its ${differs} differ`, {
        hint: "move .aegis/state/aegis.db away, then copy again",
      });
  } finally {
    connection.close();
  }
}

const mostNamed = 5;

function refuseUnfinished(runs: readonly { id: string }[]): void {
  if (runs.length === 0) return;
  const named = runs.slice(0, mostNamed).map(({ id }) => id);
  const more = runs.length > named.length ? `, and ${runs.length - named.length} more` : "";
  throw new AegisError("conflict", `${runs.length} runs are unfinished: ${named.join(", ")}${more}`, {
    hint: "start the daemon, let them end or cancel them with aegis workflow cancel, stop it, and copy again",
  });
}

function stampOf(clock: StatePlace["clock"]): string {
  return new Date(clock.now())
    .toISOString()
    .replace(/[-:]|\.\d+/g, "")
    .toLowerCase();
}

function freeName(wanted: string): string {
  let name = wanted;
  for (let n = 2; existsSync(name); n += 1) name = `${wanted}-${n}`;
  return name;
}
