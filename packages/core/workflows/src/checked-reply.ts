/** A workflow step that sends a message and has the daemon check the work before the reply counts. */
import { type CheckInput, checkInputSchema, checkOf } from "@aegis/contract/check.ts";
import type { MessageId, SessionId } from "@aegis/contract/ids.ts";
import type { RunContext } from "@aegis/engine/engine.ts";
import { PredicateFailed, WorkflowError } from "@aegis/plugin-api/errors.ts";
import type { StepDeps } from "./deps.ts";
import type { AgentReply } from "./replies.ts";
import { checkMayRun } from "./shell-steps.ts";

export type CheckedReply = {
  /** The step's idempotency key. */
  key: string;
  message: MessageId;
  session: SessionId;
  check: CheckInput;
  signal: AbortSignal;
  /** Waits for the reply to one message. */
  reply: (message: MessageId) => Promise<AgentReply>;
};

/** Waits for a reply whose work passes the check. Each failure that goes back is a message with a reply of its own. */
export async function checkedReply(
  context: RunContext,
  deps: StepDeps,
  { key, message, session, check: given, signal, reply }: CheckedReply,
): Promise<string> {
  const check = checkOf(given);
  const consent = async () => {
    await checkMayRun(context, deps, check.command, signal);
    return deps.consent();
  };
  const about = { kind: "step" as const, subject: context.run.id, scope: key, session, check, consent, signal };
  for (let current = message; ; ) {
    const { text, turn } = await reply(current);
    if (turn === null) return text;
    const verified = await deps.checks.verify({ ...about, turn, stillTrue: async () => true });
    if (verified.outcome === "passed") return text;
    if (verified.outcome === "failed") {
      const { exit, tail } = verified.receipt;
      throw new PredicateFailed(verified.error, {
        details: { command: check.command, exit, stdout: tail, stderr: "" },
      });
    }
    current = verified.message;
  }
}

/** Throws `WorkflowError` for a check that is not one. */
export function readCheck(given: unknown): CheckInput {
  const read = checkInputSchema.safeParse(given);
  if (read.success) return read.data;
  throw new WorkflowError(`the check is not valid: expected a command, or { command, max_retries, timeout }`);
}
