/** Prints the end of a growing file line by line. */

import { type FileHandle, open } from "node:fs/promises";
import { systemClock } from "@aegis/lib/clock.ts";
import { exists } from "@aegis/lib/files.ts";
import type { Terminal } from "./terminal.ts";
import { untilStopped } from "./until-stopped.ts";

const chunkBytes = 64 * 1024;
const pollMs = 200;

/**
 * Prints the last lines, then new lines until the command is stopped. Throws the system error if the file cannot be
 * read.
 */
export async function showTail(
  cx: Terminal,
  path: string,
  options: { follow: boolean; lines: number },
  show: (line: string) => void,
): Promise<void> {
  if (!options.follow) return showFile(path, options.lines, show, null);
  await untilStopped(cx, (stopped) => showFile(path, options.lines, show, stopped));
}

/** Waits for a file that does not exist yet, then prints all lines until the command is stopped. */
export async function showNewFile(cx: Terminal, path: string, show: (line: string) => void): Promise<void> {
  await untilStopped(cx, async (stopped) => {
    while (!stopped.aborted && !(await exists(path))) await systemClock.sleep(pollMs, stopped).catch(() => {});
    if (!stopped.aborted) await showFile(path, Number.POSITIVE_INFINITY, show, stopped);
  });
}

/** Follows the file until the signal aborts; without a signal stops at the end of the file. */
async function showFile(
  path: string,
  lines: number,
  show: (line: string) => void,
  stopped: AbortSignal | null,
): Promise<void> {
  const file = await open(path, "r");
  try {
    const end = (await file.stat()).size;
    for (const line of await lastLines(file, end, lines)) show(line);
    if (stopped !== null) await follow(file, end, show, stopped);
  } finally {
    await file.close();
  }
}

/** The last lines of a file, read from its end. */
async function lastLines(file: FileHandle, end: number, count: number): Promise<string[]> {
  let start = end;
  let tail = Buffer.alloc(0);
  // There is one line break more than lines, because the last line ends with one.
  while (start > 0 && countBreaks(tail) <= count) {
    const length = Math.min(chunkBytes, start);
    start -= length;
    tail = Buffer.concat([await readRange(file, start, length), tail]);
  }
  const all = tail
    .toString("utf8")
    .split("\n")
    .filter((line) => line !== "");
  return count === 0 ? [] : all.slice(-count);
}

async function follow(
  file: FileHandle,
  from: number,
  show: (line: string) => void,
  stopped: AbortSignal,
): Promise<void> {
  let position = from;
  let rest = "";
  while (!stopped.aborted) {
    const { size } = await file.stat();
    if (size > position) {
      const lines = (rest + (await readRange(file, position, size - position)).toString("utf8")).split("\n");
      position = size;
      rest = lines.pop() ?? "";
      for (const line of lines) if (line !== "") show(line);
    }
    await systemClock.sleep(pollMs, stopped).catch(() => {});
  }
}

async function readRange(file: FileHandle, start: number, length: number): Promise<Buffer> {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, start);
  return buffer.subarray(0, bytesRead);
}

function countBreaks(text: Buffer): number {
  let count = 0;
  for (const byte of text) if (byte === 10) count++;
  return count;
}
