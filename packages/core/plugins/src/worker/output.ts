/** Turns a plugin's output into lines of its log. Floods are cut in the worker, where they affect only the plugin. */
import type { LogLevel } from "@aegis/plugin-api/context.ts";

export type PostLine = (level: LogLevel, text: string) => void;

const linesPerSecond = 200;
const burst = 1_000;
const longestLine = 8_000;

/** A line writer with a rate limit that reports how many lines it dropped. */
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

/** Captures the output of a stream by lines. */
export function captureStream(stream: NodeJS.WriteStream, level: LogLevel, log: PostLine): void {
  let rest = "";
  const write = (chunk: unknown, encoding?: unknown, done?: unknown): boolean => {
    rest += typeof chunk === "string" ? chunk : Buffer.from(chunk as Uint8Array).toString("utf8");
    const lines = rest.split("\n");
    rest = lines.pop() ?? "";
    // A line that never ends must not fill the memory.
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
