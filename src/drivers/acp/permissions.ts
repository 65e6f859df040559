/** Answers what the agent asks before it uses a tool. The plane's own tools pass: the plane enforces their rules. */
import { resolve } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { isInside } from "../../lib/files.ts";
import type { ConversationHost, ConversationSpec, PermissionAnswer } from "../driver.ts";
import type { PermissionOutcome } from "./connection.ts";
import type { AcpRecipe } from "./recipe.ts";
import { kindOf, nameOf, type ToolCallState, titleOf } from "./tool-calls.ts";
import type { AcpPermissionRequest } from "./updates.ts";

type Options = AcpPermissionRequest["options"];

const cancelled: PermissionOutcome = { outcome: "cancelled" };
/** The protocol has no way to change a call: what was allowed is not what would run. */
const cannotRewrite: PermissionAnswer = {
  decision: "deny",
  reason: "This call was allowed only with other arguments, and an ACP agent cannot be given any.",
};
const allowed: PermissionAnswer = { decision: "allow", scope: "once" };

/** What needs no question: the plane's tools, and what the agent's permission clearly allows or forbids. */
export function settledAnswer(call: ToolCallState, recipe: AcpRecipe, spec: ConversationSpec): PermissionAnswer | null {
  const { permission } = spec.agent;
  const kind = kindOf(call, recipe.naming);
  if (recipe.naming.planeTool(call) !== null || permission === "full") return allowed;
  if (permission === "write" && kind === "edit" && isBelow(spec.cwd, call)) return allowed;
  if (permission === "read" && (kind === "edit" || kind === "execute"))
    return { decision: "deny", reason: "This agent may only read: its permission is `read`." };
  return null;
}

/** The host's answer as far as an agent can follow it, or null when the signal comes first. */
export async function askHost(
  host: ConversationHost,
  call: ToolCallState,
  recipe: AcpRecipe,
  signal: AbortSignal,
): Promise<PermissionAnswer | null> {
  const { naming } = recipe;
  const request = {
    call: call.id,
    tool: nameOf(call, naming),
    kind: kindOf(call, naming),
    title: titleOf(call, naming),
    input: call.input,
  };
  const aborted = Promise.withResolvers<null>();
  const onAbort = () => aborted.resolve(null);
  signal.addEventListener("abort", onAbort, { once: true });
  if (signal.aborted) onAbort();
  try {
    const answer = await Promise.race([host.permission(request, signal), aborted.promise]);
    const rewritten = answer?.decision === "allow" && answer.input !== undefined;
    return rewritten && !isDeepStrictEqual(answer.input, call.input) ? cannotRewrite : answer;
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}

/** Picks by kind: every agent names its options differently. An answer the agent does not offer cancels the call. */
export function chooseOption(options: Options, answer: PermissionAnswer, narrow: readonly string[]): PermissionOutcome {
  const ofKind = (kind: string) => options.filter((option) => option.kind === kind);
  const always = ofKind("allow_always");
  const narrowest = narrow.length === 0 ? always : always.filter((option) => narrow.includes(option.optionId));
  const candidates =
    answer.decision === "deny"
      ? [...ofKind("reject_once"), ...ofKind("reject_always")]
      : answer.scope === "session"
        ? [...narrowest, ...ofKind("allow_once")]
        : [...ofKind("allow_once"), ...narrowest];
  const [chosen] = candidates;
  return chosen === undefined ? cancelled : { outcome: "selected", optionId: chosen.optionId };
}

/** True when the agent says which files it changes and all of them are in the project. */
function isBelow(cwd: string, call: ToolCallState): boolean {
  const paths = [...call.locations.map((location) => location.path), ...diffPaths(call)];
  return paths.length > 0 && paths.every((path) => isInside(cwd, resolve(cwd, path)));
}

function diffPaths(call: ToolCallState): string[] {
  return call.content.flatMap((part) => (part.type === "diff" && "path" in part ? [String(part.path)] : []));
}
