import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Key, KeyReader } from "../../src/line-editor/keys.ts";

function read(...parts: (string | Uint8Array)[]): Key[] {
  const reader = new KeyReader();
  return parts.flatMap((part) => reader.feed(typeof part === "string" ? Buffer.from(part) : part));
}

const names = (...parts: string[]) => read(...parts).map((key) => (key.kind === "key" ? key.name : key));

describe("keys", () => {
  it("are known in every form that terminals send", () => {
    expect(names("\u001b[A\u001bOA\u001b[1;1A")).toEqual(["up", "up", "up"]);
    expect(names("\u001b[H\u001bOH\u001b[1~\u001b[7~\u0001")).toEqual(["home", "home", "home", "home", "home"]);
    expect(names("\u001bb\u001b[1;3D\u001b[1;5D\u001b\u001b[D")).toEqual(Array(4).fill("word-left"));
    expect(names("\u007f\b")).toEqual(["backspace", "backspace"]);
    expect(names("\u001b[3~\u001b[3;5~")).toEqual(["delete", "delete-word-right"]);
  });

  it("tell Enter, which sends, from the keys that begin a line", () => {
    expect(names("\r\u001b[13u\u001bOM")).toEqual(["enter", "enter", "enter"]);
    expect(names("\n\u001b\r\u001b\n\u001b[13;2u\u001b[13;3u\u001b[27;2;13~")).toEqual(Array(6).fill("newline"));
  });

  it("that are unknown, and answers of the terminal, are not text", () => {
    expect(
      read("\u001b[5~\u001b[15;2~\u001b[[A\u001b[?1;2c\u001b[3;4R\u001b]11;rgb:0/0/0\u0007\u001bP1$r\u001b\\"),
    ).toEqual([]);
    expect(read("\u001bq\u0000\u0085x")).toEqual([{ kind: "text", text: "x" }]);
  });

  it("end when nothing more comes", () => {
    const reader = new KeyReader();
    expect(reader.feed(Buffer.from("\u001b"))).toEqual([]);
    expect(reader.waiting).toBe(true);
    expect(reader.flush()).toEqual([]);
    expect(reader.waiting).toBe(false);
    expect(reader.feed(Buffer.from("b"))).toEqual([{ kind: "text", text: "b" }]);
  });
});

describe("a paste", () => {
  it("is one key, whatever is in it", () => {
    expect(read("a\u001b[200~one\r\u0003\u001b[Atwo\u001b[201~b")).toEqual([
      { kind: "text", text: "a" },
      { kind: "paste", text: "one\r\u0003\u001b[Atwo" },
      { kind: "text", text: "b" },
    ]);
  });

  it("whose end was lost ends when nothing more comes", () => {
    const reader = new KeyReader();
    expect(reader.feed(Buffer.from("\u001b[200~one\u001b[20"))).toEqual([]);
    expect(reader.pasting).toBe(true);
    expect(reader.flush()).toEqual([{ kind: "paste", text: "one\u001b[20" }]);
    expect(reader.waiting).toBe(false);
  });
});

it("reads the same keys wherever the bytes are cut", () => {
  const piece = fc.oneof(
    fc.constantFrom("\r", "\n", "\u007f", "\u001b[A", "\u001b[1;5C", "\u001bOH", "\u001b\r", "\u001bf", "\u001b[13;2u"),
    fc.constantFrom("ä", "日本", "👩‍👩‍👧", "plain"),
    fc.constant("\u001b[200~pasted\rté\u001b[31m\u001b[201~"),
  );
  const joined = (keys: Key[]) => {
    const all: Key[] = [];
    for (const key of keys) {
      const last = all.at(-1);
      if (key.kind === "text" && last?.kind === "text")
        all[all.length - 1] = { kind: "text", text: last.text + key.text };
      else all.push(key);
    }
    return all;
  };
  fc.assert(
    fc.property(fc.array(piece), fc.array(fc.integer({ min: 1, max: 7 })), (pieces, lengths) => {
      const bytes = Buffer.from(pieces.join(""));
      const parts: Uint8Array[] = [];
      for (let at = 0, index = 0; at < bytes.length; index++) {
        const length = lengths[index % Math.max(1, lengths.length)] ?? 1;
        parts.push(bytes.subarray(at, at + length));
        at += length;
      }
      expect(joined(read(...parts))).toEqual(joined(read(bytes)));
    }),
  );
});
