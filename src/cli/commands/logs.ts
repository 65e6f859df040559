/** `aegis logs`: the daemon's log, also when no daemon runs. */
import { type FileHandle, open } from "node:fs/promises";
import { systemClock } from "../../lib/clock.ts";
import { daemonLogPath, findProjectRoot } from "../../lib/daemon-file.ts";
import { isErrno } from "../../lib/files.ts";
import { exitCodes } from "../context.ts";
import { CliError } from "../failure.ts";
import { logLine } from "../format/log-line.ts";
import { createStyle } from "../format/style.ts";
import type { Terminal } from "../terminal.ts";

export type LogsArgs = { follow: boolean; lines: number | undefined };

const defaultLines = 50;
const chunkBytes = 64 * 1024;
const pollMs = 200;

export async function logs(cx: Terminal, args: LogsArgs): Promise<number> {
  const path = daemonLogPath(findProjectRoot(cx.cwd));
  const style = createStyle(cx.color);
  const show = (line: string) => cx.print(cx.json ? jsonLine(line) : logLine(line, style));
  let file: FileHandle;
  try {
    file = await open(path, "r");
  } catch (error) {
    if (!isErrno(error, "ENOENT")) throw error;
    throw new CliError(exitCodes.noDaemon, `there is no log yet at ${path}`, { hint: "start a daemon with: aegis up" });
  }
  try {
    const end = (await file.stat()).size;
    for (const line of await lastLines(file, end, args.lines ?? defaultLines)) show(line);
    if (!args.follow) return exitCodes.ok;
    await follow(cx, file, end, show);
    return exitCodes.ok;
  } finally {
    await file.close();
  }
}

/** The last lines of a file, read from its end. */
export async function lastLines(file: FileHandle, end: number, count: number): Promise<string[]> {
  let start = end;
  let tail = Buffer.alloc(0);
  // One line break more than lines, because the last line ends with one.
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

async function follow(cx: Terminal, file: FileHandle, from: number, show: (line: string) => void): Promise<void> {
  const stopped = new AbortController();
  const undo = cx.onStop(() => stopped.abort());
  try {
    let position = from;
    let rest = "";
    while (!stopped.signal.aborted) {
      const { size } = await file.stat();
      if (size > position) {
        const lines = (rest + (await readRange(file, position, size - position)).toString("utf8")).split("\n");
        position = size;
        rest = lines.pop() ?? "";
        for (const line of lines) if (line !== "") show(line);
      }
      await systemClock.sleep(pollMs, stopped.signal).catch(() => {});
    }
  } finally {
    undo();
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

/** What is not JSON in the log becomes a record, so that `--json` gives JSON lines only. */
function jsonLine(line: string): string {
  try {
    JSON.parse(line);
    return line;
  } catch {
    return JSON.stringify({ msg: line });
  }
}
