/** Everything that the screens show. The store replaces it; only transcripts change in place, and count their changes. */

import type { Hop } from "@aegis/client/model/flow.ts";
import { emptyTeam, type Team } from "@aegis/client/model/team.ts";
import type { Transcript } from "@aegis/client/model/transcript.ts";
import type { AgentDiagnostic, AgentSummary } from "@aegis/contract/agent.ts";
import type { Status } from "@aegis/contract/api.ts";
import type { CommandView } from "@aegis/contract/command.ts";
import type { GroupView } from "@aegis/contract/group.ts";
import type { MessageId, RunId, SessionId } from "@aegis/contract/ids.ts";
import type { PluginView } from "@aegis/contract/plugin.ts";
import type { ReceiptView } from "@aegis/contract/receipt.ts";
import type { Step } from "@aegis/contract/run.ts";
import type { ScheduleView } from "@aegis/contract/schedule.ts";
import type { SkillDiagnostic, SkillView } from "@aegis/contract/skill.ts";
import type { QueueView } from "@aegis/contract/task.ts";

/** Lists that the daemon computes. The store reads one again when an event says that it changed. */
export type Lists = {
  readonly queues: readonly QueueView[];
  readonly schedules: readonly ScheduleView[];
  readonly groups: readonly GroupView[];
  readonly agents: readonly AgentSummary[];
  readonly agentProblems: readonly AgentDiagnostic[];
  readonly skills: readonly SkillView[];
  readonly skillProblems: readonly SkillDiagnostic[];
  readonly plugins: readonly PluginView[];
  readonly commands: readonly CommandView[];
  readonly status: Status | null;
};

/** A message that the daemon has not accepted yet. Its id makes sending it again safe. */
export type Outgoing = {
  readonly id: MessageId;
  readonly session: SessionId;
  readonly text: string;
  readonly mode: "queue" | "steer";
  readonly attachments: readonly { name: string; data: string }[];
};

export type CheckResult = {
  /** The id of the task, the run or the subagent. */
  readonly of: string;
  readonly check: string | null;
  /** Newest first. */
  readonly receipts: readonly ReceiptView[];
};

export type Conversation = {
  readonly transcript: Transcript;
  /** The daemon has older events. */
  readonly more: boolean;
};

export type Model = {
  readonly state: Team;
  readonly flow: readonly Hop[];
  /** The newest part of each conversation that a person opened. */
  readonly conversations: Readonly<Record<SessionId, Conversation>>;
  /** The part of the conversation on the screen that a reader scrolled back to; null while its newest part is enough. */
  readonly reading: ({ readonly session: SessionId } & Conversation) | null;
  readonly lists: Lists;
  readonly outbox: readonly Outgoing[];
  /** `away`: the daemon does not answer; the store reconnects. */
  readonly connection: "connecting" | "live" | "away";
  /** The steps of the run that DETAIL shows. */
  readonly steps: { readonly run: RunId; readonly steps: readonly Step[] } | null;
  /** The next slots of the schedule that DETAIL shows. */
  readonly slots: { readonly schedule: string; readonly times: readonly number[] } | null;
  /** The check and the receipts of the task, run or subagent that DETAIL shows. */
  readonly checked: CheckResult | null;
};

const emptyLists: Lists = {
  queues: [],
  schedules: [],
  groups: [],
  agents: [],
  agentProblems: [],
  skills: [],
  skillProblems: [],
  plugins: [],
  commands: [],
  status: null,
};

export function emptyModel(): Model {
  return {
    state: emptyTeam(),
    flow: [],
    conversations: {},
    reading: null,
    lists: emptyLists,
    outbox: [],
    connection: "connecting",
    steps: null,
    slots: null,
    checked: null,
  };
}
