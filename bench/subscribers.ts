/**
 * A process that follows the daemon's events over many streams at once, reading no more of them than number and time, so
 * that what is measured is the daemon. Arguments: address, token, how many. Says "ready", is told up to which number to
 * read, and answers with what it saw.
 */
import { get, type IncomingMessage } from "node:http";
import type { Seen } from "./fan-out.ts";

const [url = "", token = "", count = "1"] = process.argv.slice(2);
const eventHead = /"seq":(\d+),"at":(\d+),/g;

const lags: number[] = [];
const subscribers = await Promise.all(Array.from({ length: Number(count) }, subscribe));
process.on("message", ({ until }: { until: number }) => {
  void Promise.all(subscribers.map((subscriber) => subscriber.reached(until))).then(() => {
    const seen: Seen = { events: lags.length, lags, at: Date.now() };
    process.send?.(seen, () => process.exit(0));
  });
});
process.send?.("ready");

type Subscriber = { reached(seq: number): Promise<void> };

async function subscribe(): Promise<Subscriber> {
  const stream = await open();
  let last = 0;
  let tail = "";
  let check = () => {};
  stream.setEncoding("utf8").on("data", (chunk: string) => {
    const text = tail + chunk;
    const end = text.lastIndexOf("\n\n") + 2;
    tail = text.slice(end);
    const now = Date.now();
    for (const [, seq, at] of text.slice(0, end).matchAll(eventHead)) {
      lags.push(now - Number(at));
      last = Number(seq);
    }
    check();
  });
  stream.on("error", (error) => {
    throw error;
  });
  return {
    reached: (seq) =>
      new Promise((resolve) => {
        check = () => {
          if (last >= seq) resolve();
        };
        check();
      }),
  };
}

function open(): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${token}` };
    get(`${url}/v1/events/stream`, { headers, agent: false }, resolve).on("error", reject);
  });
}
