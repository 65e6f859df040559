/** Texts about subagents: for the child at its start, for the parent at its end. */
import { type CheckReceipt, isVerified, receiptWords } from "@aegis/contract/receipt.ts";
import type { SubagentStatus } from "@aegis/contract/subagent.ts";
import type { SubagentRow } from "@aegis/store/store.ts";

/** A longer result would use too much of the parent's context. */
const longestSummary = 20_000;

export type SubagentEnding = {
  status: Exclude<SubagentStatus, "running">;
  result: string | null;
  error: string | null;
};

/** The text before a subagent's first message. */
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
export function announcement(
  row: Pick<SubagentRow, "label" | "run_id">,
  ending: SubagentEnding,
  receipt: CheckReceipt | null,
): string {
  const claim = ending.status === "done" && receipt !== null ? [isVerified(receipt) ? "verified" : "unverified"] : [];
  const proof = receipt === null ? [] : [receiptWords(receipt)];
  const how = [ending.status, ...claim, ...proof].join(", ");
  return `[Subagent Complete] "${row.label}" (${how}). Result: ${summary(row, ending)}`;
}

/** The list of results at the start of the parent's conversation, in case it missed the messages. */
export function awaitingDelivery(rows: readonly SubagentRow[]): string {
  const names = rows.map((row) => `"${row.label}" (${row.status}, run ${row.run_id})`);
  return `Subagents of yours have ended; their results come with your next message: ${names.join(", ")}.`;
}

function summary({ run_id }: Pick<SubagentRow, "run_id">, { result, error }: SubagentEnding): string {
  const said = (result ?? "").trim();
  const whole = error === null ? said || "(it ended without a final message)" : withError(error, said);
  if (whole.length <= longestSummary) return whole;
  const note = `\n[cut: ${whole.length} characters in all; sessions_history ${run_id} has the end]`;
  return `${whole.slice(0, longestSummary).toWellFormed()}${note}`;
}

function withError(error: string, said: string): string {
  return said === "" ? error : `${error}\n\nIts last message was:\n\n${said}`;
}
