/** Opens the store of a project: the embedded database, or the PostgreSQL database of its cluster. */
import { existsSync } from "node:fs";
import { AegisError } from "@aegis/contract/errors.ts";
import type { Clock } from "@aegis/lib/clock.ts";
import { storePath } from "@aegis/lib/daemon-file.ts";
import type { Logger } from "@aegis/lib/log.ts";
import { packageVersion } from "@aegis/lib/version.ts";
import type { ClusterSettings } from "@aegis/project/cluster.ts";
import type { HeldState } from "@aegis/project/state/hold.ts";
import type { Store } from "@aegis/store/store.ts";
import { Connection } from "@aegis/store-sqlite/connection.ts";
import { openSqliteStore } from "@aegis/store-sqlite/store.ts";
import { noteLostCommits } from "./lost-commits.ts";

export type OpenStoreOptions = {
  root: string;
  state: HeldState;
  cluster: ClusterSettings | null;
  /** Whether to wait for a database server as long as it takes. */
  patient: boolean;
  /** What this process has published with an earlier store. */
  history: { published: number };
  /** Called once, if the database server has lost commits: the daemon must stop. */
  onHistoryLost: (error: AegisError) => void;
  clock: Clock;
  log: Logger;
};

/** Less than a command waits for the daemon that it starts, so that it can print the reason. */
const joinWaitMs = 20_000;

/** `scope` closes it. */
export async function openStore(options: OpenStoreOptions, scope: AsyncDisposableStack): Promise<Store> {
  const { root, state, cluster, patient, history, onHistoryLost, clock, log } = options;
  if (cluster !== null) {
    refuseEmbeddedSessions(storePath(root));
    // Only projects with a cluster load this code and the driver.
    const { openPostgresStore } = await import("@aegis/store-postgres/store.ts");
    const { patientStore } = await import("@aegis/store/patient.ts");
    const opened = await openPostgresStore({
      url: cluster.url,
      schema: cluster.schema,
      log,
      waitMs: patient ? Number.POSITIVE_INFINITY : joinWaitMs,
      history,
      onHistoryLost,
      node: {
        name: cluster.node,
        holder: state.owner.id,
        leaseMs: cluster.leaseMs,
        version: packageVersion(),
        labels: cluster.labels,
        maxSessions: cluster.maxSessions,
      },
    });
    const store = patientStore(opened, log);
    scope.defer(() => store.close());
    return store;
  }
  const { owner, losses } = state;
  const store = await openSqliteStore({ path: storePath(root), clock, log, owner, losses });
  scope.defer(async () => {
    await store.close();
    await state.closed();
  });
  if (!state.wasClosed) await noteLostCommits(state.dir, store, clock);
  return store;
}

/** Throws `conflict` if the project has sessions that it would seem to have lost. */
function refuseEmbeddedSessions(path: string): void {
  if (!existsSync(path)) return;
  const connection = new Connection(path, { readOnly: true });
  try {
    const known = connection.get("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'sessions'");
    if (known === undefined || connection.get("SELECT 1 FROM sessions LIMIT 1") === undefined) return;
  } finally {
    connection.close();
  }
  throw new AegisError("conflict", "the sessions of this project are in its embedded database, not in PostgreSQL", {
    hint: `move them with: aegis store copy --to postgres. To begin without them, move ${path} away`,
  });
}
