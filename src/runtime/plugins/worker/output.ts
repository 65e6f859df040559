/** What a plugin prints becomes lines of its log. A flood is cut here, in the worker, where it costs nobody else. */
import type { LogLevel } from "../protocol.ts";

export type PostLine = (level: LogLevel, text: string) => void;

const linesPerSecond = 200;
const burst = 1_000;
const longestLine = 8_000;

/** A line writer that lets so many lines through and then tells how many it left out. */
export function limitedLog(post: PostLine): PostLine {
  let allowance = burst;
  let left = 0;
  let last = performance.now();
  return (level, text) => {
    const now = performance.now();
    allowance = Math.min(burst, allowance + ((now - last) / 1000) * linesPerSecond);
    last = now;
    if (allowance < 1) {
      left += 1;
      return;
    }
    if (left > 0) post("warn", `${left} lines were left out: the plugin writes more than ${linesPerSecond} a second`);
    left = 0;
    allowance -= 1;
    post(level, text.length > longestLine ? `${text.slice(0, longestLine)}… (${text.length} characters)` : text);
  };
}

/** Takes over what a stream is given, whole lines at a time. */
export function captureStream(stream: NodeJS.WriteStream, level: LogLevel, log: PostLine): void {
  let rest = "";
  const write = (chunk: unknown, encoding?: unknown, done?: unknown): boolean => {
    rest += typeof chunk === "string" ? chunk : Buffer.from(chunk as Uint8Array).toString("utf8");
    const lines = rest.split("\n");
    rest = lines.pop() ?? "";
    // Somebody who never ends a line must not fill the memory with it.
    if (rest.length > longestLine) {
      lines.push(rest);
      rest = "";
    }
    for (const line of lines) if (line !== "") log(level, line);
    const callback = typeof encoding === "function" ? encoding : done;
    if (typeof callback === "function") queueMicrotask(() => callback());
    return true;
  };
  stream.write = write as typeof stream.write;
}
