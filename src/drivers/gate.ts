/** What becomes of a call that a harness asks about: plugins judge it first, then the agent's rights or a person. */
import { isDeepStrictEqual } from "node:util";
import type { ConversationHost, PermissionAnswer, PermissionRequest, ToolUse, ToolVerdict } from "./driver.ts";

/**
 * `settled` is the answer that the agent's permission gives without asking anybody, or null. An answer that changes the
 * input carries the changed one.
 */
export async function judge(
  host: ConversationHost,
  request: PermissionRequest,
  settled: PermissionAnswer | null,
  signal: AbortSignal,
): Promise<PermissionAnswer> {
  const verdict = await host.beforeTool(useOf(request), signal);
  if (verdict.decision === "deny") return verdict;
  const isChanged = verdict.input !== undefined && !isDeepStrictEqual(verdict.input, request.input);
  const answer =
    verdict.decision === "ask" || settled === null
      ? await host.permission(askedFor(request, verdict), signal)
      : settled;
  return isChanged && answer.decision === "allow" ? { input: verdict.input, ...answer } : answer;
}

/** The question that a verdict puts to a person. */
export function askedFor(
  request: PermissionRequest,
  verdict: Exclude<ToolVerdict, { decision: "deny" }>,
): PermissionRequest {
  const reason = verdict.decision === "ask" ? verdict.reason : null;
  return {
    ...request,
    title: reason === null ? request.title : `${request.title} (${reason})`,
    input: verdict.input ?? request.input,
  };
}

function useOf({ call, tool, kind, input }: PermissionRequest): ToolUse {
  return { call, tool, kind, input };
}
