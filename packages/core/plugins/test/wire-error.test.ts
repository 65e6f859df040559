/** Errors that cross the boundary of a worker keep what `instanceof` looks at. */

import { AegisError } from "@aegis/contract/errors.ts";
import { WorkflowError } from "@aegis/plugin-api/errors.ts";
import { expect, it } from "vitest";
import { fromWire, toWire } from "../src/wire-error.ts";

class Custom extends RangeError {
  override readonly name = "Custom";
}

const back = (error: unknown) => fromWire(structuredClone(toWire(error)));

it.each([
  ["TypeError", new TypeError("a"), TypeError],
  ["RangeError", new RangeError("b"), RangeError],
  ["SyntaxError", new SyntaxError("c"), SyntaxError],
  ["Custom", new Custom("d"), RangeError],
  ["AbortError", new DOMException("e", "AbortError"), DOMException],
  ["Error", new Error("f"), Error],
  ["AegisError", new AegisError("not_found", "g"), AegisError],
  ["WorkflowError", new WorkflowError("h"), WorkflowError],
])("%s", (name, error, type) => {
  const received = back(error);
  expect(received).toBeInstanceOf(type);
  expect(received).toMatchObject({ name, message: error.message });
});

it("makes no class that the other side only names", () => {
  const received = fromWire({ ...toWire(new Error("x")), base: "constructor" });
  expect(Object.getPrototypeOf(received)).toBe(Error.prototype);
});
