/** Reads an event stream as it comes, without the client's own care for broken connections. */

import { type SseBlock, SseParser } from "@aegis/client/sse-parser.ts";
import type { Event } from "@aegis/contract/event.ts";
import { onTestFinished } from "vitest";
import type { Daemon } from "../helpers/project.ts";
import { waitUntil } from "../helpers/wait-until.ts";

export type Stream = {
  readonly blocks: readonly SseBlock[];
  readonly events: readonly Event[];
  /** Resolves when an event like this has come. */
  sees(what: string, matches: (event: Event) => boolean): Promise<void>;
  /** Settles when the connection is over, however it ended. */
  ended: Promise<void>;
};

export async function openStream(
  { file }: Pick<Daemon, "file">,
  query: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<Stream> {
  const stop = new AbortController();
  onTestFinished(() => stop.abort());
  const response = await fetch(`${file.url}/v1/events/stream${query}`, {
    headers: { authorization: `Bearer ${file.token}`, ...headers },
    signal: stop.signal,
  });
  if (response.status !== 200) throw new Error(`status ${response.status}: ${await response.text()}`);
  const blocks: SseBlock[] = [];
  const events: Event[] = [];
  const ended = read(response, (block) => {
    blocks.push(block);
    if (block.event === "event" && block.data !== null) events.push(JSON.parse(block.data) as Event);
  });
  return { blocks, events, ended, sees: (what, matches) => waitUntil(what, () => events.some(matches)) };
}

async function read(response: Response, onBlock: (block: SseBlock) => void): Promise<void> {
  const parser = new SseParser();
  try {
    for await (const bytes of response.body ?? []) for (const block of parser.push(bytes)) onBlock(block);
  } catch {
    // A daemon that was killed cuts the stream.
  }
}
