/** Which errors of a start fail the turn, and which ones only delay it. */
import { AegisError } from "@aegis/contract/errors.ts";
import { StoreAwayError } from "@aegis/store/transact.ts";
import { expect, it } from "vitest";
import { asStartFailure } from "../src/refused-start.ts";

it("makes a refusal the failure of the turn, with the way out", () => {
  const refusal = new AegisError("forbidden", "not trusted", { hint: "aegis trust" });
  expect(asStartFailure(refusal)).toMatchObject({
    turnError: { code: "start", message: "not trusted", fix: "aegis trust" },
  });
});

it("leaves a lost database as it is, so that the start is tried again", () => {
  const away = new StoreAwayError("the database does not answer");
  expect(asStartFailure(away)).toBe(away);
});
