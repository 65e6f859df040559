/** What the steps of workflows work with. */
import type { Environment } from "../../lib/child-env.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/log.ts";
import type { Processes } from "../../lib/process.ts";
import type { Store } from "../../store/store.ts";
import type { Asks } from "../asks/asks.ts";
import type { Broadcasts } from "../groups/broadcasts.ts";
import type { Groups } from "../groups/groups.ts";
import type { Inbox } from "../inbox/inbox.ts";
import type { Queues } from "../queues/queues.ts";
import type { Sessions } from "../sessions/sessions.ts";

export type WorkflowDeps = {
  store: Store;
  clock: Clock;
  log: Logger;
  sessions: Sessions;
  inbox: Inbox;
  asks: Asks;
  queues: Queues;
  groups: Groups;
  broadcasts: Broadcasts;
  processes: Processes;
  /** The daemon's own environment; commands get what any program needs of it. */
  env: Environment;
  /** The project's folder, where commands run. */
  root: string;
  /** Where steps may put files while they run. */
  scratchDir: string;
};
