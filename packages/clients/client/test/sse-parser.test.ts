import fc from "fast-check";
import { expect, test } from "vitest";
import { type SseBlock, SseParser, SseTooLongError } from "../src/sse-parser.ts";

const encoder = new TextEncoder();

function parse(...chunks: (string | Uint8Array)[]): SseBlock[] {
  const parser = new SseParser();
  return chunks.flatMap((chunk) => parser.push(typeof chunk === "string" ? encoder.encode(chunk) : chunk));
}

test("blocks with id, event and data", () => {
  expect(parse("id: 7\nevent: event\ndata: {}\n\nevent: delta\ndata:x\n\n")).toEqual([
    { id: "7", event: "event", data: "{}" },
    { id: "7", event: "delta", data: "x" },
  ]);
});

test("the details of the format", () => {
  expect(parse("\ufeffdata: a\ndata\ndata:  b\n\n")).toEqual([{ id: null, event: "message", data: "a\n\n b" }]);
  expect(parse(": comment\n\nretry: 5\nunknown: x\n\n")).toEqual([]);
  expect(parse("id: 3\n\n")).toEqual([{ id: "3", event: "message", data: null }]);
  expect(parse("id: a\0b\ndata: x\n\n")).toEqual([{ id: null, event: "message", data: "x" }]);
  expect(parse("data: not finished\n")).toEqual([]);
});

test("the result does not depend on where the bytes are cut, nor on the line ends", { tags: "slow" }, () => {
  const field = fc.constantFrom("data", "event", "id", "", "other");
  const text = fc
    .string({ unit: "binary", maxLength: 8 })
    .map((value) => value.toWellFormed().replace(/[\r\n\ufeff]/g, ""));
  const line = fc.oneof(
    fc.tuple(field, text).map(([name, value]) => `${name}: ${value}`),
    fc.constantFrom("", "data: 🚀é\u2028x"),
  );
  fc.assert(
    fc.property(
      fc.array(line, { maxLength: 12 }),
      fc.constantFrom("\n", "\r\n", "\r"),
      fc.array(fc.nat(200), { maxLength: 20 }),
      (lines, end, cuts) => {
        const bytes = encoder.encode(lines.map((one) => one + end).join(""));
        const chunks: Uint8Array[] = [];
        let start = 0;
        for (const cut of cuts) {
          chunks.push(bytes.subarray(start, start + cut));
          start += cut;
        }
        chunks.push(bytes.subarray(start));
        const whole = parse(encoder.encode(lines.map((one) => `${one}\n`).join("")));
        expect(parse(...chunks)).toEqual(whole);
        expect(parse(...Array.from(bytes, (byte) => new Uint8Array([byte])))).toEqual(whole);
      },
    ),
  );
});

test("damaged bytes and endless lines are errors", () => {
  expect(() => parse(new Uint8Array([100, 0xc3, 0x28]))).toThrow(TypeError);
  const parser = new SseParser({ maxLength: 10 });
  expect(() => parser.push(encoder.encode("data: much too long"))).toThrow(SseTooLongError);
});
