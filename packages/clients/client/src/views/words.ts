/** Times, amounts and senders in a few characters. */
import type { Message } from "@aegis/contract/message.ts";

const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;

const two = (value: number) => String(Math.floor(value)).padStart(2, "0");

/** A running time with tenths below a minute: `12.4s`, `3m02s`, `2h05m`. */
export function preciseDuration(ms: number): string {
  const time = Math.max(0, ms);
  return time < minute ? `${(Math.floor(time / 100) / 10).toFixed(1)}s` : runningTime(time);
}

/** `8s`, `1m12s`, `2h05m`, `3d04h`. */
export function runningTime(ms: number): string {
  const time = Math.max(0, ms);
  if (time < minute) return `${Math.floor(time / second)}s`;
  if (time < hour) return `${Math.floor(time / minute)}m${two((time % minute) / second)}s`;
  if (time < day) return `${Math.floor(time / hour)}h${two((time % hour) / minute)}m`;
  return `${Math.floor(time / day)}d${two((time % day) / hour)}h`;
}

/** The largest unit: `12s`, `5m`, `3h`, `2d`. */
export function age(ms: number): string {
  const time = Math.max(0, ms);
  if (time < minute) return `${Math.floor(time / second)}s`;
  if (time < hour) return `${Math.floor(time / minute)}m`;
  if (time < day) return `${Math.floor(time / hour)}h`;
  return `${Math.floor(time / day)}d`;
}

/** `14:03:27` in the local time zone. */
export function timeOfDay(at: number): string {
  const date = new Date(at);
  return `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
}

/** US dollars; an amount below one cent is not shown as zero. */
export function dollars(amount: number): string {
  return `$${amount > 0 && amount < 0.01 ? Number(amount.toPrecision(2)) : amount.toFixed(2)}`;
}

export function plural(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`;
}

/** The end of an id, enough to tell the newest ones apart. */
export function shortId(id: string): string {
  return id.slice(-6);
}

/** Who sent a message: `you`, a handle, or the kind of sender with its name. */
export function senderName({ sender }: Pick<Message, "sender">): string {
  switch (sender.kind) {
    case "human":
      return "you";
    case "agent":
      return sender.handle;
    case "queue":
    case "workflow":
    case "schedule":
    case "client":
    case "webhook":
      return `${sender.kind} ${sender.name}`;
    case "group":
      return `group ${sender.group}`;
    case "channel":
      return sender.name;
    case "substrate":
      return sender.kind;
    default:
      return sender satisfies never;
  }
}
