/** What is said about subagents: to the child at its start, to the parent at its end. */
import type { SubagentStatus } from "../../contract/subagent.ts";
import type { SubagentRow } from "../../store/store.ts";

/** A longer result would crowd out whatever else the parent has in mind. */
const longestSummary = 20_000;

export type Ending = {
  status: Exclude<SubagentStatus, "running">;
  result: string | null;
  error: string | null;
};

/** What a subagent is told before its first message. */
export function preamble(row: SubagentRow, parentHandle: string, maySpawn: boolean): string {
  return [
    `You are a subagent: "${parentHandle}" started you as "${row.label}" for one task, at depth ${row.depth}. You share none of its history.`,
    "Do exactly that task, then end your turn. Your whole last message is your report and all that your parent gets of your work: put the answer into it, not a promise of it.",
    maySpawn
      ? "You may start subagents of your own with sessions_spawn. Their results arrive as messages; you are done only when all of them are."
      : "You cannot start subagents of your own.",
    `You have ${row.timeout} seconds. Do not wait for a person unless the task cannot be done otherwise.`,
  ].join("\n");
}

/** The message to the parent. */
export function announcement(row: Pick<SubagentRow, "label" | "run_id">, ending: Ending): string {
  return `[Subagent Complete] "${row.label}" (${ending.status}). Result: ${summary(row, ending)}`;
}

/** What the parent is told at the beginning of a conversation, in case the messages were overlooked. */
export function awaitingDelivery(rows: readonly SubagentRow[]): string {
  const names = rows.map((row) => `"${row.label}" (${row.status}, run ${row.run_id})`);
  return `Subagents of yours have ended; their results come with your next message: ${names.join(", ")}.`;
}

function summary({ run_id }: Pick<SubagentRow, "run_id">, { result, error }: Ending): string {
  const said = (result ?? "").replaceAll("\0", "\uFFFD").trim();
  const whole = error === null ? said || "(it ended without a final message)" : withError(error, said);
  if (whole.length <= longestSummary) return whole;
  const note = `\n[cut: ${whole.length} characters in all; sessions_history ${run_id} has the end]`;
  return `${whole.slice(0, longestSummary).toWellFormed()}${note}`;
}

function withError(error: string, said: string): string {
  return said === "" ? error : `${error}\n\nIts last message was:\n\n${said}`;
}
