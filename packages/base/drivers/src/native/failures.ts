/** Classifies failures of a model call by how the loop handles them. */
import type { TurnError } from "@aegis/contract/turn.ts";
import { createRedactor } from "@aegis/lib/redact.ts";
import type { ModelTarget } from "./models.ts";

/** A failure reported by the model library, without its types. */
export type RawFailure = {
  message: string;
  status: number | null;
  body: string;
  /** The vendor's own name, as in `overloaded_error`. */
  type: string | null;
  retryAfterMs: number | null;
  /** The connection or the stream broke without a response. */
  network: boolean;
};

export type FailureKind = "auth" | "model" | "rate" | "overloaded" | "server" | "network" | "overflow" | "request";

/** A failed model call. */
export class ModelFailure extends Error {
  override readonly name = "ModelFailure";
  readonly kind: FailureKind;
  readonly retryAfterMs: number | null;
  readonly turnError: TurnError;

  constructor(kind: FailureKind, turnError: TurnError, retryAfterMs: number | null) {
    super(turnError.message);
    this.kind = kind;
    this.turnError = turnError;
    this.retryAfterMs = retryAfterMs;
  }

  /** The same request may succeed later. */
  get retryable(): boolean {
    return this.kind === "rate" || this.kind === "overloaded" || this.kind === "server" || this.kind === "network";
  }
}

/** The model was silent for too long. */
export class InactivityError extends Error {
  override readonly name = "InactivityError";
}

export function toModelFailure(raw: RawFailure, target: ModelTarget): ModelFailure {
  const kind = sort(raw);
  // A proxy may quote the request that it refused.
  const redact = createRedactor(target.key === null ? [] : [target.key]);
  const name = `${target.provider}/${target.model}`;
  const turnError = { code: codes[kind], message: redact(sentence(kind, raw, name)), ...fix(kind, target) };
  return new ModelFailure(kind, turnError, raw.retryAfterMs);
}

const codes: Readonly<Record<FailureKind, string>> = {
  auth: "not_logged_in",
  model: "bad_model",
  rate: "rate_limited",
  overloaded: "overloaded",
  server: "model",
  network: "protocol",
  overflow: "context_overflow",
  request: "model",
};

const overflowText =
  /context[_ ]?(length|window)|prompt is too long|too many (input )?tokens|maximum context|input is too long|exceeds? the (maximum|context|available)|input token count/i;
const missingModelText =
  /model[^.]{0,80}(not found|does not exist|not exist|is not available|unknown)|(no such|unknown|invalid) model/i;
const badKeyText = /api[ _-]?key (not valid|invalid)|invalid[ _]api[ _]key|api_key_invalid|incorrect api key/i;

function sort(raw: RawFailure): FailureKind {
  const text = `${raw.type ?? ""} ${raw.message} ${raw.body}`;
  const { status } = raw;
  if (status === 401 || status === 403) return "auth";
  if (status === 529 || /overloaded/i.test(raw.type ?? "")) return "overloaded";
  if ((status === 400 || status === 413 || status === null) && overflowText.test(text)) return "overflow";
  if (status === 429) return "rate";
  if (status === 404) return "model";
  if (status === 400 && badKeyText.test(text)) return "auth";
  if (status === 400 && missingModelText.test(text)) return "model";
  if (status === null && /rate_limit/i.test(raw.type ?? "")) return "rate";
  if (status === null && /overloaded/i.test(raw.message)) return "overloaded";
  if (status !== null && (status >= 500 || status === 408 || status === 409)) return "server";
  if (status !== null && status >= 400) return "request";
  return raw.network ? "network" : "server";
}

function sentence(kind: FailureKind, raw: RawFailure, name: string): string {
  const said = raw.message === "" ? "" : `: ${raw.message.slice(0, 500)}`;
  const status = raw.status === null ? "" : ` (HTTP ${raw.status})`;
  if (kind === "auth") return `${name} refused the key${status}${said}`;
  if (kind === "model") return `${name} was not found${status}${said}`;
  if (kind === "rate") return `${name} refused the call because of its rate limit${status}${said}`;
  if (kind === "overloaded") return `${name} is overloaded${status}${said}`;
  if (kind === "overflow") return `The conversation is too long for ${name}${status}${said}`;
  if (kind === "network") return `The connection to ${name} failed${said}`;
  return `${name} failed${status}${said}`;
}

function fix(kind: FailureKind, target: ModelTarget): { fix?: string } {
  if (kind === "auth")
    return {
      fix:
        target.keyName === null
          ? `Name the key's variable as models.${target.provider}.key_env in .aegis.yaml.`
          : `Check the key in ${target.keyName}, then start the daemon again.`,
    };
  if (kind === "model") return { fix: `Check the agent's model: "${target.provider}" has no "${target.model}".` };
  if (kind === "network") return { fix: `Check that ${new URL(target.baseUrl).origin} can be reached.` };
  if (kind === "overflow") return { fix: "Start a new session, or set the agent's context_size to the real size." };
  return {};
}
