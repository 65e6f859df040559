/** JSON lines, separated only by `\n`: U+2028 and similar characters may occur inside JSON strings. */
import { readFile } from "node:fs/promises";

const maxLineBytes = 16 * 1024 * 1024;

export class LineTooLongError extends Error {
  override readonly name = "LineTooLongError";
}

/** Yields the lines of a byte stream without their `\n`, including a last line that has none. */
export async function* lines(
  chunks: AsyncIterable<Uint8Array>,
  options: { maxBytes?: number } = {},
): AsyncGenerator<string> {
  const limit = options.maxBytes ?? maxLineBytes;
  let parts: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of chunks) {
    let start = 0;
    for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, start)) {
      parts.push(chunk.subarray(start, end));
      yield Buffer.concat(parts).toString("utf8");
      parts = [];
      size = 0;
      start = end + 1;
    }
    if (start < chunk.length) {
      parts.push(chunk.subarray(start));
      size += chunk.length - start;
      if (size > limit) throw new LineTooLongError(`a line is longer than ${limit} bytes`);
    }
  }
  if (size > 0) yield Buffer.concat(parts).toString("utf8");
}

/** Reads the records of a JSONL file. Ignores an incomplete last line; throws if any other line is invalid. */
export async function readJsonl(path: string): Promise<unknown[]> {
  const text = await readFile(path, "utf8");
  const rows = text.split("\n");
  const torn = rows.pop() ?? "";
  const records = rows.filter((row) => row !== "").map((row) => JSON.parse(row) as unknown);
  const last = tryParse(torn);
  return last === undefined ? records : [...records, last];
}

function tryParse(text: string): unknown {
  if (text === "") return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
