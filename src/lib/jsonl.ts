/** JSON lines, framed strictly by `\n`: U+2028 and its like are ordinary characters inside JSON strings. */
import { readFile } from "node:fs/promises";

export const maxLineBytes = 16 * 1024 * 1024;

export class LineTooLongError extends Error {
  override readonly name = "LineTooLongError";
}

/** The lines of a byte stream, without their `\n`. A last line without one is given too. */
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

/** The records of a JSONL file. A torn last line is left out; a broken line in the middle is an error. */
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
