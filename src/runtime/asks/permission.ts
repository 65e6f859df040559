/** Converts between permission requests of the driver port and asks. */
import { type Ask, permissionChoices } from "../../contract/ask.ts";
import type { SessionId } from "../../contract/ids.ts";
import type { PermissionAnswer, PermissionRequest } from "../../drivers/driver.ts";
import type { Question } from "./action.ts";
import { askChanges } from "./present.ts";

export async function permissionQuestion(
  session: SessionId,
  request: PermissionRequest,
  { cwd, timeoutMs }: { cwd: string | null; timeoutMs: number | null },
): Promise<Question> {
  const { withinMs = Number.POSITIVE_INFINITY } = request;
  const wait = Math.min(timeoutMs ?? Number.POSITIVE_INFINITY, withinMs);
  return {
    session,
    kind: "permission",
    question: request.title,
    reason: request.reason ?? null,
    gate: request.gate ?? false,
    tool: request.tool,
    detail: request.input,
    changes: await askChanges(request.changes ?? [], cwd),
    cwd: request.cwd ?? cwd,
    options: permissionChoices.filter((choice) => request.once !== true || choice !== "always"),
    timeoutMs: Number.isFinite(wait) ? wait : null,
  };
}

/**
 * Only Aegis remembers an "allow for session" answer to a gate's question: a harness that knew it would bypass the
 * gate.
 */
export function permissionFrom({ status, answer }: Pick<Ask, "status" | "answer">, gate: boolean): PermissionAnswer {
  if (status === "expired") return { decision: "deny", reason: "no person answered in time" };
  if (status === "withdrawn" || !answer)
    return { decision: "deny", reason: "the turn was interrupted before a person answered" };
  if (answer.choice === "allow") return { decision: "allow", scope: "once" };
  if (answer.choice === "always") return { decision: "allow", scope: gate ? "once" : "session" };
  return { decision: "deny", reason: answer.text === "" ? "denied by a person" : answer.text };
}
