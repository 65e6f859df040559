/** Formats a line of the daemon's log. */
import type { Style } from "./style.ts";
import { oneLine } from "./text.ts";
import { clockTime } from "./time.ts";

const levels: readonly { from: number; name: string; paint: keyof Style | null }[] = [
  { from: 50, name: "error", paint: "red" },
  { from: 40, name: "warn", paint: "yellow" },
  { from: 30, name: "info", paint: null },
  { from: 0, name: "debug", paint: "dim" },
];

/** Fields that every line has and readers do not need. */
const uninteresting = new Set(["level", "time", "msg", "pid", "hostname", "name", "v"]);

/** Returns a line that is not a JSON record (for example of a stack trace) unchanged. */
export function logLine(line: string, style: Style): string {
  const record = parseRecord(line);
  if (record === null) return line;
  const level = levelOf(record.level);
  const at = typeof record.time === "number" ? record.time : Date.parse(String(record.time));
  const fields = Object.entries(record)
    .filter(([key, value]) => !uninteresting.has(key) && value !== undefined && key !== "err")
    .map(([key, value]) => `${key}=${typeof value === "string" ? oneLine(value) : JSON.stringify(value)}`);
  const message = oneLine(String(record.msg ?? ""));
  const paint = level.paint === null ? (text: string) => text : style[level.paint];
  return [
    style.dim(Number.isNaN(at) ? "--:--:--" : clockTime(at)),
    paint(level.name.padEnd(5)),
    paint(message),
    style.dim(fields.join(" ")),
    errorOf(record.err),
  ]
    .filter((part) => part !== "")
    .join(" ");
}

/** The message of a line that reports a problem, or null. */
export function logProblem(line: string): string | null {
  const record = parseRecord(line);
  if (record === null) return line.trim() === "" ? null : line;
  if (levelOf(record.level).name !== "error") return null;
  const detail = errorOf(record.err);
  return detail === "" ? String(record.msg ?? "") : `${record.msg}: ${detail}`;
}

/** What a start waits for, or null if the line does not say that it waits. */
export function waitingFor(line: string): string | null {
  const record = parseRecord(line);
  const message = String(record?.msg ?? "");
  return message.startsWith("waiting for ") ? `${message}: ${oneLine(String(record?.error ?? ""))}` : null;
}

function levelOf(value: unknown): (typeof levels)[number] {
  const byName = levels.find((level) => level.name === value);
  const number = typeof value === "number" ? value : 30;
  return byName ?? levels.find((level) => number >= level.from) ?? { from: 0, name: "info", paint: null };
}

function errorOf(value: unknown): string {
  if (typeof value === "string") return oneLine(value);
  if (typeof value !== "object" || value === null) return "";
  return "message" in value ? oneLine(String(value.message)) : "";
}

function parseRecord(line: string): Record<string, unknown> | null {
  if (!line.startsWith("{")) return null;
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : null;
  } catch {
    return null;
  }
}
