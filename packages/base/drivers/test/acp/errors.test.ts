/** What agents answer when something is wrong, in our codes. */
import { expect, test } from "vitest";
import { DeadlineError, RequestError } from "../../src/acp/connection.ts";
import { turnErrorOf } from "../../src/acp/errors.ts";

test.each([
  [new RequestError(-32000, "Authentication required"), { code: "not_logged_in", fix: "log in" }],
  [new RequestError(401, "Unauthorized"), { code: "not_logged_in", fix: "log in" }],
  [new RequestError(429, "slow down"), { code: "rate_limited" }],
  [new RequestError(-32603, "Internal error", { details: "RESOURCE_EXHAUSTED" }), { code: "rate_limited" }],
  [new RequestError(503, "try later"), { code: "overloaded" }],
  [new RequestError(400, "prompt is too long: 300000 tokens"), { code: "context_overflow" }],
  [new RequestError(404, "models/x is not found"), { code: "bad_model" }],
  [new RequestError(-32602, "Invalid params"), { code: "protocol" }],
  [new RequestError(400, '{"error":{"code":400,"message":"boom"}}'), { code: "model", message: "boom" }],
  [new RequestError(-32603, "Internal error", { details: "odd" }), { code: "model", message: "Internal error: odd" }],
  [new DeadlineError("no answer"), { code: "timeout" }],
  [new Error("ACP connection closed"), { code: "protocol" }],
])("%s", (error, expected) => {
  expect(turnErrorOf(error, "log in")).toMatchObject(expected);
});
