/** Maps Codex's error codes to the error of a turn. */
import type { TurnError } from "../../contract/turn.ts";
import { isObject, numberAt, objectAt, textAt } from "../cli-harness/fields.ts";
import type { TurnEnded } from "../driver.ts";

export function failureOf(error: unknown): Pick<TurnEnded, "reason" | "error"> {
  const { code, status } = readInfo(objectAt({ error }, "error").codexErrorInfo);
  const message = messageOf(error);
  if (code === "cyberPolicy" || code === "misalignmentPolicyViolation") {
    return { reason: "refused", error: { code: "blocked", message } };
  }
  return { reason: "failed", error: classify(code, status, message) };
}

function classify(code: string, status: number | null, message: string): TurnError {
  if (code === "unauthorized" || status === 401 || status === 403) {
    return { code: "not_logged_in", message, fix: "Run `codex login`, or check the key of your model provider." };
  }
  if (
    code === "modelNotFound" ||
    status === 404 ||
    /model .*(not (found|exist|supported)|does not exist)/i.test(message)
  ) {
    return { code: "bad_model", message, fix: "Set `model` of the agent to one that your account can use." };
  }
  if (code === "usageLimitExceeded" || code === "rateLimitExceeded" || status === 429) {
    return { code: "rate_limited", message };
  }
  if (code === "serverOverloaded" || code === "flexUnavailable" || status === 503 || status === 529) {
    return { code: "overloaded", message };
  }
  if (code === "contextWindowExceeded") {
    return { code: "context_overflow", message, fix: "Start a new session." };
  }
  const [, unset] = /Missing environment variable: `?(\w+)/.exec(message) ?? [];
  if (unset !== undefined) {
    return {
      code: "not_logged_in",
      message,
      fix: `Agents do not receive the daemon's environment: set ${unset} in the agent's \`env\`.`,
    };
  }
  return { code: "model", message };
}

/** Either a code, or an object with one code and the status of the HTTP response. */
function readInfo(info: unknown): { code: string; status: number | null } {
  if (typeof info === "string") return { code: info, status: null };
  if (!isObject(info)) return { code: "", status: null };
  const [code = "", detail] = Object.entries(info)[0] ?? [];
  return { code, status: numberAt(detail, "httpStatusCode") };
}

/** A refusal of the model API arrives as its JSON body. */
function messageOf(error: unknown): string {
  const message = textAt(error, "message") ?? "Codex ended the turn with an error.";
  const details = textAt(error, "additionalDetails");
  try {
    const inner = textAt(objectAt(JSON.parse(message), "error"), "message");
    if (inner !== null) return inner;
  } catch {
    // Not JSON: the message is already readable.
  }
  return details === null ? message : `${message} (${details})`;
}
