/** What a daemon is built from. Each part names what it takes of it. */
import type { DriverTable } from "@aegis/drivers/driver-table.ts";
import type { InstallPlace } from "@aegis/installer/place.ts";
import type { Environment } from "@aegis/lib/child-env.ts";
import type { Clock } from "@aegis/lib/clock.ts";
import type { Logger } from "@aegis/lib/log.ts";
import type { Processes } from "@aegis/lib/process.ts";
import type { Redact, RedactedStream } from "@aegis/lib/redact.ts";
import type { ProjectTrust } from "@aegis/project/trust/project-trust.ts";
import type { TrustedSettings } from "@aegis/project/trust/trusted-settings.ts";
import type { Store } from "@aegis/store/store.ts";
import type { Membership } from "./build-cluster.ts";

export type BuildOptions = {
  root: string;
  stateDir: string;
  /** Where packages are installed. */
  places: Readonly<Record<InstallPlace["scope"], InstallPlace>>;
  store: Store;
  drivers: DriverTable;
  clock: Clock;
  log: Logger;
  processes: Processes;
  /** The environment in which the daemon was started. */
  env: Environment;
  settings: () => TrustedSettings;
  version: string;
  /** Where the daemon listens. Call it only after the server has started. */
  url: () => string;
  /** Redacts a value from everything that is persisted. Returns a function that removes the value. */
  addSecret: (value: string) => () => void;
  redact: Redact;
  /** Like `addSecret`'s redaction, for text that arrives in chunks. */
  redactedStream: () => RedactedStream;
  trust: Pick<ProjectTrust, "trust">;
  /** The place of this daemon in a cluster; absent without one. */
  member?: Membership | undefined;
  /** Aborts when the daemon is forced to stop. */
  signal: AbortSignal;
};
