/** Determines the outcome of one prompt (an answer, an error, process death, silence) and how the turn ends. */

import type { TurnError } from "@aegis/contract/turn.ts";
import { aborted } from "@aegis/lib/until-aborted.ts";
import { z } from "zod";
import { silentFor, type Waits } from "../cli-harness/inactivity.ts";
import { endText, type JsonProcess } from "../cli-harness/json-process.ts";
import type { DriverDeps, TurnEnded } from "../driver.ts";
import type { AcpConnection } from "./connection.ts";
import { turnErrorOf } from "./errors.ts";
import type { AcpRecipe } from "./recipe.ts";
import type { AcpSession } from "./session.ts";
import type { UsageMeter } from "./usage.ts";

/** How long an agent may take to end a cancelled prompt before its process is killed. */
const cancelMs = 5000;

const answerSchema = z.looseObject({ stopReason: z.string() });

const reasons: Record<string, TurnEnded["reason"]> = {
  end_turn: "completed",
  cancelled: "cancelled",
  refusal: "refused",
  max_tokens: "truncated",
  max_turn_requests: "truncated",
};

export type PromptOptions = {
  deps: DriverDeps;
  recipe: AcpRecipe;
  inactivityMs: number;
  process: JsonProcess;
  connection: AcpConnection;
  session: AcpSession;
};

export type PromptOutcome =
  | { kind: "answer"; answer: z.infer<typeof answerSchema> }
  | { kind: "error"; error: unknown }
  | { kind: "died" }
  | { kind: "stuck" }
  | { kind: "silent" };

/** Sends the prompt and waits for its answer, the end of the process, or the inactivity limit. */
export async function outcomeOf(
  blocks: readonly object[],
  options: PromptOptions,
  waits: Waits,
  signal: AbortSignal,
): Promise<PromptOutcome> {
  const { connection, process, session, deps, inactivityMs } = options;
  const over = new AbortController();
  const answered = connection
    .request("session/prompt", { sessionId: session.id, prompt: blocks }, answerSchema)
    .then<PromptOutcome, PromptOutcome>(
      (answer) => ({ kind: "answer", answer }),
      (error: unknown) => ({ kind: "error", error }),
    );
  const stuck = stuckAfterCancel(options, signal, over.signal);
  const silent = silentFor(inactivityMs, () => process.child.lastActivity(), waits, deps.clock, over.signal);
  try {
    const outcome = await Promise.race([answered, stuck, silent.then((): PromptOutcome => ({ kind: "silent" }))]);
    // A request fails when the connection ends, and the connection ends with the process.
    return outcome.kind === "error" && !process.alive ? { kind: "died" } : outcome;
  } finally {
    over.abort();
  }
}

/** Also ends the process of an agent that does not respond. */
export async function turnEndOf(
  outcome: PromptOutcome,
  { recipe, process, inactivityMs }: PromptOptions,
  meter: UsageMeter,
  signal: AbortSignal,
): Promise<TurnEnded> {
  const usage = meter.endTurn(outcome.kind === "answer" ? outcome.answer : null);
  // Some agents end a cancelled prompt normally or with an error; after our cancel the turn counts as cancelled.
  const end = (reason: TurnEnded["reason"], error: TurnError | null = null): TurnEnded =>
    signal.aborted
      ? { type: "turn.ended", reason: "cancelled", error: null, usage }
      : { type: "turn.ended", reason, error, usage };
  switch (outcome.kind) {
    case "answer": {
      const reason = reasons[outcome.answer.stopReason];
      if (reason !== undefined) return end(reason);
      return end("failed", { code: "protocol", message: `unknown stop reason "${outcome.answer.stopReason}"` });
    }
    case "error":
      return end("failed", turnErrorOf(outcome.error, recipe.login));
    case "died":
      return end("failed", await deathOf(recipe, process));
    case "stuck":
      await process.child.stop();
      await process.ended;
      return end("cancelled");
    case "silent": {
      await process.child.stop();
      const { stderr } = await process.ended;
      const message = `${recipe.program.name} was silent for ${Math.round(inactivityMs / 60_000)} minutes and was stopped`;
      return end("failed", { code: "timeout", message, ...(stderr === "" ? {} : { stderr }) });
    }
  }
}

export async function deathOf(recipe: AcpRecipe, process: JsonProcess): Promise<TurnError> {
  const end = await process.ended;
  const message = `${recipe.program.name} ${endText(end, null)}`;
  return { code: "died", message, ...(end.stderr === "" ? {} : { stderr: end.stderr }) };
}

/** Sends a cancel when the signal aborts; resolves if the agent has not stopped within the limit. */
async function stuckAfterCancel(
  { connection, session, deps }: PromptOptions,
  signal: AbortSignal,
  over: AbortSignal,
): Promise<PromptOutcome> {
  await aborted(AbortSignal.any([signal, over]));
  if (signal.aborted && !over.aborted) {
    await connection.notify("session/cancel", { sessionId: session.id }).catch(() => {});
    await deps.clock.sleep(cancelMs, over).catch(() => {});
  }
  return { kind: "stuck" };
}
