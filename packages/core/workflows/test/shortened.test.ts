import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { tempDir } from "@aegis/test/helpers/temp-dir.ts";
import { expect, it } from "vitest";
import { ShortenedOutput, shortenedFile } from "../src/shortened.ts";

const mb = 1024 * 1024;

function collected(pieces: readonly Buffer[]): string {
  const output = new ShortenedOutput();
  for (const piece of pieces) output.push(piece);
  return output.toString();
}

it("gives output that fits as it is", () => {
  expect(collected([Buffer.from("one "), Buffer.from("two")])).toBe("one two");
  expect(collected([Buffer.alloc(4 * mb, "a")])).toBe("a".repeat(4 * mb));
});

it.each([7, 1000, 64 * 1024, 9 * mb])("gives the beginning and the end of longer output, in pieces of %i", (size) => {
  const length = size === 7 ? 4 * mb + 10 : 9 * mb;
  const whole = Buffer.alloc(length, "0123456789\n");
  const pieces = Array.from({ length: Math.ceil(length / size) }, (_, n) => whole.subarray(n * size, (n + 1) * size));
  const text = collected(pieces);
  const note = `\n[… ${length - 4 * mb} bytes are left out …]\n`;
  const expected = `${whole.subarray(0, mb)}${note}${whole.subarray(length - 3 * mb)}`;
  expect(text === expected).toBe(true);
});

it("does the same for a file", { tags: "slow" }, async () => {
  const path = join(await tempDir(), "out");
  expect(await shortenedFile(path)).toBe("");
  await writeFile(path, "short");
  expect(await shortenedFile(path)).toBe("short");
  const whole = Buffer.alloc(9 * mb, "0123456789\n");
  await writeFile(path, whole);
  expect((await shortenedFile(path)) === collected([whole])).toBe(true);
});
