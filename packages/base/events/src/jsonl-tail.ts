/** Inspects the end of a JSONL file: how far it is written, and whether a crash truncated its last line. */
import type { FileHandle } from "node:fs/promises";

/** How far a file is written. A different size means that another program changed the file. */
export type Mark = { seq: number; size: number };

const firstTailBytes = 16 * 1024;

/** Removes a truncated last line and returns the seq of the last complete one. */
export async function repairTail(file: FileHandle): Promise<Mark> {
  const { size } = await file.stat();
  const mark = await readTail(file, size);
  if (mark.size < size) await file.truncate(mark.size);
  return mark;
}

/** The last complete line: its seq, zero if there is none, and where it ends. */
export async function readTail(file: FileHandle, size: number): Promise<Mark> {
  for (let length = firstTailBytes; ; length *= 4) {
    const start = Math.max(0, size - length);
    const tail = await readAll(file, start, size - start);
    const found = lastWholeLine(tail);
    // The end of a line is not valid JSON, so a line that starts before the tail is not mistaken for a complete one.
    if (found === null && start > 0) continue;
    return { seq: found?.seq ?? 0, size: found === null ? 0 : start + found.end };
  }
}

function lastWholeLine(tail: Buffer): { seq: number; end: number } | null {
  for (let newline = tail.lastIndexOf(10); newline !== -1; ) {
    const previous = newline === 0 ? -1 : tail.lastIndexOf(10, newline - 1);
    const seq = seqOf(tail.toString("utf8", previous + 1, newline));
    if (seq !== null) return { seq, end: newline + 1 };
    newline = previous;
  }
  return null;
}

function seqOf(line: string): number | null {
  try {
    const event = JSON.parse(line) as { seq?: unknown } | null;
    return typeof event?.seq === "number" ? event.seq : null;
  } catch {
    return null;
  }
}

async function readAll(file: FileHandle, start: number, length: number): Promise<Buffer> {
  const buffer = Buffer.alloc(length);
  let read = 0;
  while (read < length) {
    const { bytesRead } = await file.read(buffer, read, length - read, start + read);
    if (bytesRead === 0) break;
    read += bytesRead;
  }
  return buffer.subarray(0, read);
}
