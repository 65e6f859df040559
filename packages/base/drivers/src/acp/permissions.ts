/** Answers the agent's permission requests. The plane's own tools pass, because the plane enforces their rules. */
import { resolve } from "node:path";
import { isDeepStrictEqual } from "node:util";
import type { ToolKind } from "@aegis/contract/turn.ts";
import { isInside } from "@aegis/lib/files.ts";
import { unlessAborted } from "@aegis/lib/until-aborted.ts";
import type { ConversationHost, ConversationSpec, FilesOf, PermissionAnswer } from "../driver.ts";
import { judge, mustAsk } from "../tool-approval.ts";
import type { PermissionOutcome } from "./connection.ts";
import type { AcpRecipe } from "./recipe.ts";
import { changesOf, hasInput, kindOf, nameOf, type ToolCallState, titleOf } from "./tool-calls.ts";
import type { AcpPermissionRequest } from "./updates.ts";

type Options = AcpPermissionRequest["options"];

const cancelled: PermissionOutcome = { outcome: "cancelled" };
/** The protocol cannot change a call, so the call that runs would differ from the one that was allowed. */
const cannotRewrite: PermissionAnswer = {
  decision: "deny",
  reason: "This call was allowed only with changed arguments, which an ACP agent does not support.",
};
const allowed: PermissionAnswer = { decision: "allow", scope: "once" };

/**
 * The answer to calls that need no question: the plane's tools, and calls that the permission clearly allows or
 * forbids.
 */
export function settledAnswer(call: ToolCallState, recipe: AcpRecipe, spec: ConversationSpec): PermissionAnswer | null {
  const { permission } = spec.agent;
  const kind = kindOf(call, recipe.naming);
  if (isPlaneCall(call, recipe) || permission === "full") return allowed;
  // A gated agent also asks about calls that it would otherwise just run. Reading the project needs no consent.
  const isLook = kind === "read" || kind === "search" || kind === "think";
  if (mustAsk(spec.host) && isLook && pathsOf(call).every((path) => isInside(spec.cwd, resolve(spec.cwd, path)))) {
    return allowed;
  }
  if (permission === "write" && kind === "edit" && isBelow(spec.cwd, call)) return allowed;
  if (permission === "read" && (kind === "edit" || kind === "execute"))
    return { decision: "deny", reason: "This agent may only read: its permission is `read`." };
  return null;
}

/** The plane judges its own tools and enforces its rules. */
export function isPlaneCall(call: ToolCallState, recipe: AcpRecipe): boolean {
  return recipe.naming.planeTool(call) !== null;
}

/** The answer of plugins and then of the host, limited to what the agent supports; null if the signal aborts first. */
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
    changes: changesOf(call),
    ...(namesAction(call) ? {} : { reason: noAction }),
    paths: pathsOf(call),
    files: () => filesOf(call, kindOf(call, naming)),
  };
  const answer = await unlessAborted(judge(host, request, settled, signal), signal);
  if (answer === "aborted") return null;
  const rewritten = answer?.decision === "allow" && answer.input !== undefined;
  return rewritten && !isDeepStrictEqual(answer.input, request.input) ? cannotRewrite : answer;
}

/**
 * Picks an option by kind, because every agent names its options differently. An answer that the agent does not offer
 * cancels the call.
 */
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

/** Without any of these, the title is all that a person sees, and the model may have written it. */
function namesAction(call: ToolCallState): boolean {
  return hasInput(call) || pathsOf(call).length > 0;
}

const noAction = "the harness names no action";

/** True if the agent reports which files it changes and all of them are in the project. */
function isBelow(cwd: string, call: ToolCallState): boolean {
  const paths = pathsOf(call);
  return paths.length > 0 && paths.every((path) => isInside(cwd, resolve(cwd, path)));
}

/** An agent that does not show a call's arguments still shows which files it affects. */
function inputOf(call: ToolCallState): unknown {
  if (hasInput(call)) return call.input;
  const changes = call.content.filter((part) => part.type === "diff");
  const locations = call.locations.map(({ path }) => path);
  return { ...(locations.length === 0 ? {} : { locations }), ...(changes.length === 0 ? {} : { changes }) };
}

/** An edit that does not show its text counts as a write of the whole file. */
function filesOf(call: ToolCallState, kind: ToolKind): ReturnType<FilesOf> {
  const paths = call.locations.map(({ path }) => path);
  if (kind === "read") return { reads: paths };
  if (kind !== "edit") return {};
  const changes = changesOf(call);
  return { changes: changes.length > 0 ? changes : paths.map((path) => ({ path, after: "" })) };
}

function pathsOf({ locations, content }: ToolCallState): string[] {
  const changed = content.flatMap((part) => (part.type === "diff" && "path" in part ? [String(part.path)] : []));
  return [...locations.map((location) => location.path), ...changed];
}
