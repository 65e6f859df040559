/** Answers what the agent asks before it uses a tool. The plane's own tools pass: the plane enforces their rules. */
import { resolve } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { isInside } from "../../lib/files.ts";
import type { ConversationHost, ConversationSpec, PermissionAnswer } from "../driver.ts";
import { judge } from "../gate.ts";
import type { PermissionOutcome } from "./connection.ts";
import type { AcpRecipe } from "./recipe.ts";
import { hasInput, kindOf, nameOf, type ToolCallState, titleOf } from "./tool-calls.ts";
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
  if (isPlaneCall(call, recipe) || permission === "full") return allowed;
  // A gated agent asks also about what it would simply do: looking at the project needs nobody's consent.
  const isLook = kind === "read" || kind === "search" || kind === "think";
  if (spec.host.gated && isLook && pathsOf(call).every((path) => isInside(spec.cwd, resolve(spec.cwd, path)))) {
    return allowed;
  }
  if (permission === "write" && kind === "edit" && isBelow(spec.cwd, call)) return allowed;
  if (permission === "read" && (kind === "edit" || kind === "execute"))
    return { decision: "deny", reason: "This agent may only read: its permission is `read`." };
  return null;
}

/** The plane judges and enforces its own. */
export function isPlaneCall(call: ToolCallState, recipe: AcpRecipe): boolean {
  return recipe.naming.planeTool(call) !== null;
}

/** What plugins and then the host say, as far as an agent can follow it, or null when the signal comes first. */
export async function askHost(
  host: ConversationHost,
  call: ToolCallState,
  recipe: AcpRecipe,
  settled: PermissionAnswer | null,
  signal: AbortSignal,
): Promise<PermissionAnswer | null> {
  const { naming } = recipe;
  const request = {
    call: call.id,
    tool: nameOf(call, naming),
    kind: kindOf(call, naming),
    title: titleOf(call, naming),
    input: inputOf(call),
  };
  const aborted = Promise.withResolvers<null>();
  const onAbort = () => aborted.resolve(null);
  signal.addEventListener("abort", onAbort, { once: true });
  if (signal.aborted) onAbort();
  try {
    const answer = await Promise.race([judge(host, request, settled, signal), aborted.promise]);
    const rewritten = answer?.decision === "allow" && answer.input !== undefined;
    return rewritten && !isDeepStrictEqual(answer.input, request.input) ? cannotRewrite : answer;
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
  const paths = pathsOf(call);
  return paths.length > 0 && paths.every((path) => isInside(cwd, resolve(cwd, path)));
}

/** An agent that keeps a call's arguments to itself still shows which files it is about. */
function inputOf(call: ToolCallState): unknown {
  if (hasInput(call)) return call.input;
  const changes = call.content.filter((part) => part.type === "diff");
  const locations = call.locations.map(({ path }) => path);
  return { ...(locations.length === 0 ? {} : { locations }), ...(changes.length === 0 ? {} : { changes }) };
}

function pathsOf({ locations, content }: ToolCallState): string[] {
  const changed = content.flatMap((part) => (part.type === "diff" && "path" in part ? [String(part.path)] : []));
  return [...locations.map((location) => location.path), ...changed];
}
