/** Decides about a call that a harness asks about: plugins check it first, then the agent's permission or a person. */
import { isDeepStrictEqual } from "node:util";
import type { CallVerdict, ConversationHost, PermissionAnswer, PermissionRequest, ToolUse } from "./driver.ts";

/**
 * `settled` is the answer that the agent's permission gives without a question, or null. An answer that changes the
 * input contains the changed input.
 */
export async function judge(
  host: ConversationHost,
  request: PermissionRequest,
  settled: PermissionAnswer | null,
  signal: AbortSignal,
): Promise<PermissionAnswer> {
  const verdict = await host.beforeTool(useOf(request), signal);
  if (verdict.decision === "deny") return verdict;
  // A person cannot allow what the permission forbids.
  if (settled?.decision === "deny") {
    await host.endTool(useOf(request));
    return settled;
  }
  const isChanged = verdict.input !== undefined && !isDeepStrictEqual(verdict.input, request.input);
  const answer =
    verdict.decision === "ask" || settled === null
      ? await host.permission(askedFor(request, verdict), signal)
      : settled;
  if (answer.decision === "deny") return answer;
  // A harness that receives "for the session" would not ask again, and gates would miss its calls. Aegis remembers the
  // answer instead.
  const { scope, ...rest } = answer;
  const given = { ...rest, scope: host.gated ? ("once" as const) : scope };
  return isChanged ? { input: verdict.input, ...given } : given;
}

/** The question to a person that a verdict requires. */
export function askedFor(
  request: PermissionRequest,
  verdict: Exclude<CallVerdict, { decision: "deny" }>,
): PermissionRequest {
  const { changes, ...rest } = request;
  const isRewritten = verdict.input !== undefined && !isDeepStrictEqual(verdict.input, request.input);
  // Changes read from the input before a plugin rewrote it no longer describe the call.
  const shown = changes === undefined || isRewritten ? rest : request;
  const asked = { ...shown, input: verdict.input ?? request.input };
  if (verdict.decision !== "ask") return asked;
  const { reason } = verdict;
  return {
    ...asked,
    gate: true,
    title: reason === null ? request.title : `${request.title} (${reason})`,
    reason: reason ?? request.reason ?? null,
    ...(verdict.once === true ? { once: true } : {}),
  };
}

/** Whether a harness that can be stopped only at a permission request must ask. */
export function mustAsk(host: Pick<ConversationHost, "gated" | "guarded">): boolean {
  return host.gated || host.guarded.length > 0;
}

function useOf({ call, tool, kind, input, paths, files }: PermissionRequest): ToolUse {
  const known = { ...(paths === undefined ? {} : { paths }), ...(files === undefined ? {} : { files }) };
  return { call, tool, kind, input, ...known };
}
