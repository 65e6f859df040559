/** Numbers and times as short texts. */

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;

/** `now`, `40 s`, `12 min`, `3 h`, `5 d`: one unit is enough to compare cards. */
export function age(ms: number): string {
  if (ms < 5 * second) return "now";
  if (ms < minute) return `${Math.floor(ms / second)} s`;
  if (ms < hour) return `${Math.floor(ms / minute)} min`;
  if (ms < 2 * day) return `${Math.floor(ms / hour)} h`;
  return `${Math.floor(ms / day)} d`;
}

/** The length of a turn or a step: `24 ms`, `0.4 s`, `41 s`, `3 min 02 s`, `1 h 20 min`. */
export function duration(ms: number): string {
  if (ms < second / 10) return `${Math.max(0, Math.round(ms))} ms`;
  if (ms < 10 * second) return `${(ms / second).toFixed(1)} s`;
  if (ms < minute) return `${Math.round(ms / second)} s`;
  if (ms < hour) return `${Math.floor(ms / minute)} min ${pad(Math.floor((ms % minute) / second))} s`;
  return `${Math.floor(ms / hour)} h ${pad(Math.floor((ms % hour) / minute))} min`;
}

export function money(usd: number): string {
  if (usd === 0) return "$0";
  if (usd < 0.01) return "<$0.01";
  return `$${usd.toFixed(usd < 100 ? 2 : 0)}`;
}

/** `940`, `12.4k`, `1.2M`. */
export function count(value: number): string {
  if (value < 1_000) return String(value);
  if (value < 1_000_000) return `${trimmed(value / 1_000)}k`;
  return `${trimmed(value / 1_000_000)}M`;
}

function trimmed(value: number): string {
  return value < 10 ? value.toFixed(1) : String(Math.round(value));
}

export function clock(at: number, withSeconds = false): string {
  const date = new Date(at);
  const time = `${pad(date.getHours())}:${pad(date.getMinutes())}`;
  return withSeconds ? `${time}:${pad(date.getSeconds())}` : time;
}

/** The time of day, with the date unless it is today. */
export function when(at: number, now: number): string {
  const date = new Date(at);
  const isToday = date.toDateString() === new Date(now).toDateString();
  if (isToday) return clock(at);
  return `${date.getFullYear()}-${pad(date.getMonth() + 1)}-${pad(date.getDate())} ${clock(at)}`;
}

export function plural(value: number, noun: string): string {
  return `${value} ${noun}${value === 1 ? "" : "s"}`;
}

/** Hostile text on one line: control characters and direction marks would change what a person reads. */
export function oneLine(text: string, length = 200): string {
  const flat = visible(text).replace(/\s+/g, " ").trim();
  return flat.length > length ? `${flat.slice(0, length - 1)}…` : flat;
}

/** Removes control characters and marks that reorder or hide text; keeps line breaks and tabs. */
export function visible(text: string): string {
  return text.replace(hidden, "");
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: these characters are what the function removes
const hidden = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g;

/** Output of a program: colours of a terminal are removed whole, as their rest would be readable. */
export function programText(text: string): string {
  return visible(text.replace(terminalCodes, ""));
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: the escape character begins what the function removes
const terminalCodes = /\u001b\[[0-?]*[ -/]*[@-~]/g;

function pad(value: number): string {
  return String(value).padStart(2, "0");
}
