import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  buildRedactor,
  createRedactor,
  RedactedStream,
  redacted,
  redactedLine,
  type SecretForm,
} from "../src/redact.ts";

const form: SecretForm = { lead: "tok-", class: "[a-c]", count: 6 };

/** Gives the text in pieces and tells what was shown after each. */
function streamed(pieces: readonly string[], secrets: readonly string[], forms: readonly SecretForm[] = []): string[] {
  const redactor = buildRedactor(secrets, forms);
  const stream = new RedactedStream(() => redactor);
  return [...pieces.map((piece) => stream.push(piece)), stream.flush()];
}

/** Cuts a text into pieces of these lengths, the last of which takes the rest. */
function cut(text: string, lengths: readonly number[]): string[] {
  const pieces: string[] = [];
  let at = 0;
  for (const length of lengths) {
    pieces.push(text.slice(at, at + length));
    at += length;
  }
  return [...pieces, text.slice(at)];
}

describe("a stream", () => {
  it("shows ordinary text at once", () => {
    expect(streamed(["Hello ", "there, ", "friend"], ["hunter2-secret"])).toEqual(["Hello ", "there, ", "friend", ""]);
  });

  it("holds back only what may be the beginning of a secret", () => {
    expect(streamed(["my hun", "gry friend"], ["hunter2-secret"])).toEqual(["my ", "hungry friend", ""]);
    expect(streamed(["it is hunter2", "-sec", "ret, so"], ["hunter2-secret"])).toEqual([
      "it is ",
      "",
      "[redacted], so",
      "",
    ]);
    expect(streamed(["ends with hunter2"], ["hunter2-secret"])).toEqual(["ends with ", "hunter2"]);
  });

  it("waits for the longer of two secrets that begin alike", () => {
    expect(streamed(["abcdefgh", "ij."], ["abcdefgh", "abcdefghij"])).toEqual(["", "[redacted].", ""]);
    expect(streamed(["abcdefgh", "ix."], ["abcdefgh", "abcdefghij"])).toEqual(["", "[redacted]ix.", ""]);
  });

  it("finds secrets by their form", () => {
    expect(streamed(["a tok", "-abca", "bc b"], [], [form])).toEqual(["a ", "", "[redacted] b", ""]);
    expect(streamed(["a tok-abx"], [], [form])).toEqual(["a tok-abx", ""]);
  });

  it("shows what redacting the whole text shows, however the text is cut", () => {
    // A small alphabet makes secrets that overlap, contain each other, and begin where another ends.
    const letters = (options: fc.StringConstraints) => fc.string({ unit: fc.constantFrom("a", "b", "c"), ...options });
    const secret = letters({ minLength: 8, maxLength: 14 });
    const text = (secrets: readonly string[]) =>
      fc
        .array(fc.oneof(fc.constantFrom("tok-", " ", ...secrets), letters({ maxLength: 12 })), { maxLength: 12 })
        .map((parts) => parts.join(""));
    const input = fc
      .array(secret, { maxLength: 4 })
      .chain((secrets) => fc.tuple(fc.constant(secrets), text(secrets), fc.array(fc.nat(9), { maxLength: 40 })));
    fc.assert(
      fc.property(input, ([secrets, whole, lengths]) => {
        const shown = streamed(cut(whole, lengths), secrets, [form]);
        expect(shown.join("")).toBe(createRedactor(secrets, [form])(whole));
      }),
      { numRuns: 3_000 },
    );
  });

  it("never waits for more than the longest secret", () => {
    const secret = "x".repeat(20);
    fc.assert(
      fc.property(fc.array(fc.constantFrom("x", "xx", "y"), { maxLength: 60 }), (pieces) => {
        const stream = new RedactedStream(() => buildRedactor([secret]));
        const shown = pieces.map((piece) => stream.push(piece)).join("");
        const rest = stream.flush();
        expect(rest.length).toBeLessThan(secret.length);
        expect(shown + rest).toBe(createRedactor([secret])(pieces.join("")));
      }),
    );
  });
});

describe("a JSON value", () => {
  /** All texts in it, field names included. */
  function textsIn(value: unknown): string[] {
    if (typeof value === "string") return [value];
    if (typeof value !== "object" || value === null) return [];
    return [...(Array.isArray(value) ? [] : Object.keys(value)), ...Object.values(value).flatMap(textsIn)];
  }

  it("keeps no secret that contains characters which JSON escapes", { tags: "slow" }, () => {
    const letters = (options: fc.StringConstraints) =>
      fc.string({ unit: fc.constantFrom("a", '"', "\\", "\n", "\u0001", "\u2028", "é", "😀"), ...options });
    const quoted = (secrets: readonly string[]) => secrets.map((secret) => JSON.stringify({ secret }));
    const text = (secrets: readonly string[]) =>
      fc
        .array(fc.oneof(letters({ maxLength: 4 }), fc.constantFrom("", "tok-abcabc", ...secrets, ...quoted(secrets))), {
          maxLength: 3,
        })
        .map((parts) => parts.join(""));
    const value = (secrets: readonly string[]) =>
      fc.oneof(
        fc.dictionary(text(secrets), fc.oneof(text(secrets), fc.array(text(secrets)), fc.integer())),
        fc.array(fc.oneof(text(secrets), fc.constant(null))),
      );
    const input = fc
      .array(letters({ minLength: 8, maxLength: 10 }), { maxLength: 3 })
      .chain((secrets) => fc.tuple(fc.constant(secrets), value(secrets)));
    fc.assert(
      fc.property(input, ([secrets, given]) => {
        const redact = createRedactor(secrets, [form]);
        const clean = redacted(given, redact);
        for (const one of textsIn(clean)) {
          expect(redact(one)).toBe(one);
          for (const secret of [...secrets, ...quoted(secrets)]) expect(one).not.toContain(secret);
        }
        expect(JSON.parse(redactedLine(given, redact))).toEqual(JSON.parse(JSON.stringify(clean)));
      }),
      { numRuns: 3_000 },
    );
  });

  it("is the same value if it contains no secret", () => {
    const value = { text: "hunter2", parts: ["a", { b: 12_345_678 }] };
    expect(redacted(value, createRedactor(["hunter2-secret", "12345678"]))).toEqual(value);
    expect(redacted(value, createRedactor(["hunter2-secret"]))).toBe(value);
  });
});
