import { expect, it } from "vitest";
import { clientTokenForm, derivedClientToken, nameInDerivedToken, randomClientToken } from "../src/client-token.ts";
import { createRedactor } from "../src/redact.ts";

it("proves the name that it was derived for, with the same daemon token only", () => {
  const token = derivedClientToken("secret", "cursor");
  expect(nameInDerivedToken("secret", token)).toBe("cursor");
  expect(nameInDerivedToken("other", token)).toBeNull();
  expect(nameInDerivedToken("secret", token.replace("~cursor", "~claude"))).toBeNull();
  expect(nameInDerivedToken("secret", token.replace("~cursor", ""))).toBeNull();
  expect(nameInDerivedToken("secret", "")).toBeNull();
  expect(nameInDerivedToken("secret", randomClientToken())).toBeNull();
});

it("is redacted by its form", () => {
  const redact = createRedactor([], [clientTokenForm]);
  expect(redact(`a ${randomClientToken()} b`)).toBe("a [redacted] b");
  expect(redact(derivedClientToken("secret", "cursor"))).toBe("[redacted]~cursor");
});
