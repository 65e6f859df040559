/** Maps the errors of ACP agents to Aegis error codes. */

import type { TurnError } from "@aegis/contract/turn.ts";
import { errorText } from "@aegis/lib/log.ts";
import { z } from "zod";
import { DeadlineError, RequestError } from "./connection.ts";

type Rule = { code: string; codes: readonly number[]; pattern: RegExp | null };

/** The first match wins. HTTP statuses of the model's API leak through as JSON-RPC codes. */
const rules: readonly Rule[] = [
  {
    code: "not_logged_in",
    codes: [-32000, 401, 403],
    pattern: /not logged in|log ?in required|api key|unauthenticated|authenticat/i,
  },
  { code: "rate_limited", codes: [429], pattern: /rate.?limit|too many requests|resource_exhausted|quota/i },
  { code: "overloaded", codes: [503, 529], pattern: /overloaded|unavailable/i },
  {
    code: "context_overflow",
    codes: [413],
    pattern: /context (length|window|limit)|prompt is too long|too many tokens/i,
  },
  {
    code: "bad_model",
    codes: [404],
    pattern: /model.{0,80}(not found|not exist|unknown|not supported)|unknown model/i,
  },
  { code: "protocol", codes: [-32700, -32600, -32601, -32602], pattern: null },
];

const innerErrorSchema = z.object({ error: z.object({ message: z.string() }) });
const detailSchema = z.object({ details: z.string() });

export function turnErrorOf(error: unknown, login: string): TurnError {
  if (error instanceof DeadlineError) return { code: "timeout", message: error.message };
  if (!(error instanceof RequestError)) return { code: "protocol", message: errorText(error) };
  const message = messageOf(error);
  const matches = (rule: Rule) => rule.codes.includes(error.code) || rule.pattern?.test(message) === true;
  const code = rules.find(matches)?.code ?? "model";
  return code === "not_logged_in" ? { code, message, fix: login } : { code, message };
}

/** Agents pass the body of a failed model call as the message, or hide the cause in the data. */
function messageOf(error: RequestError): string {
  const detail = detailSchema.safeParse(error.data).data?.details;
  const text = detail === undefined ? error.message : `${error.message}: ${detail}`;
  try {
    return innerErrorSchema.parse(JSON.parse(error.message)).error.message;
  } catch {
    return text;
  }
}
