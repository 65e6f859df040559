/** The dependencies of workflow steps. */

import type { AgentTable } from "@aegis/agents/agent-table.ts";
import type { SubagentSettings } from "@aegis/agents/rights/rules.ts";
import type { Starter } from "@aegis/contract/starter.ts";
import type { Broadcasts } from "@aegis/delegation/groups/broadcasts.ts";
import type { Groups } from "@aegis/delegation/groups/groups.ts";
import type { Queues } from "@aegis/delegation/queues/queues.ts";
import type { AgentCommands } from "@aegis/hooks/agent-commands.ts";
import type { Environment } from "@aegis/lib/child-env.ts";
import type { Clock } from "@aegis/lib/clock.ts";
import type { Consent } from "@aegis/lib/consent.ts";
import type { Logger } from "@aegis/lib/log.ts";
import type { Processes } from "@aegis/lib/process.ts";
import type { RedactedStream } from "@aegis/lib/redact.ts";
import type { Asks } from "@aegis/sessions/asks/asks.ts";
import type { Inbox } from "@aegis/sessions/inbox/inbox.ts";
import type { Sessions } from "@aegis/sessions/sessions.ts";
import type { Store } from "@aegis/store/store.ts";
import type { Checks } from "@aegis/worktrees/checks/checks.ts";
import type { ReceiptViews } from "@aegis/worktrees/checks/views.ts";

export type WorkflowDeps = {
  store: Store;
  clock: Clock;
  log: Logger;
  agents: AgentTable;
  /** The subagent settings of the project. */
  subagentSettings: () => SubagentSettings;
  sessions: Sessions;
  inbox: Inbox;
  asks: Asks;
  commands: AgentCommands;
  queues: Queues;
  groups: Groups;
  broadcasts: Broadcasts;
  checks: Checks;
  receipts: ReceiptViews;
  /** What starts a command of a run. Throws if it must be confined and cannot be. */
  confine: (run: { within: Starter["agent"] | null; folder: string; own: readonly string[] }) => Promise<Processes>;
  /** Redacts the output of commands. */
  redactedStream: () => RedactedStream;
  /** Checks that a run of the workflow may continue and start commands. Throws `forbidden`. */
  consent: (workflow: { name: string; plugin: string | null }) => Promise<Consent>;
  /** The daemon's environment; commands get the part that every program needs. */
  env: Environment;
  /** The project folder, in which commands run. */
  root: string;
  /** The folder for temporary files of steps. */
  scratchDir: string;
};

/** The dependencies of the steps of one run. */
export type StepDeps = Omit<WorkflowDeps, "consent"> & {
  /** Called for each command that the run starts. */
  consent: () => Promise<Consent>;
  /** The plugin whose workflow it is; null for a bundled one. */
  plugin: string | null;
};
