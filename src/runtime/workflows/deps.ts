/** The dependencies of workflow steps. */
import type { Environment } from "../../lib/child-env.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Consent } from "../../lib/consent.ts";
import type { Logger } from "../../lib/log.ts";
import type { Processes } from "../../lib/process.ts";
import type { RedactedStream } from "../../lib/redact.ts";
import type { Store } from "../../store/store.ts";
import type { Asks } from "../asks/asks.ts";
import type { Checks } from "../checks/checks.ts";
import type { ReceiptViews } from "../checks/views.ts";
import type { Broadcasts } from "../groups/broadcasts.ts";
import type { Groups } from "../groups/groups.ts";
import type { AgentCommands } from "../hooks/agent-commands.ts";
import type { Inbox } from "../inbox/inbox.ts";
import type { Queues } from "../queues/queues.ts";
import type { SubagentSettings } from "../rights/rules.ts";
import type { Sessions } from "../sessions/sessions.ts";
import type { AgentTable } from "../tables/agents.ts";

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
  processes: Processes;
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
