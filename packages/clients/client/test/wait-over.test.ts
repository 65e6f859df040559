import { AegisError } from "@aegis/contract/errors.ts";
import { expect, test } from "vitest";
import type { Client } from "../src/client.ts";
import { waitUntilOver } from "../src/wait-over.ts";

/** A daemon that streams these types of events and is asked nothing else but where they begin. */
function streaming(types: readonly string[]): Client {
  const lines = types.map((type, index) => {
    const event = { seq: index + 1, type, session: null, at: 0, data: {} };
    return `event: event\nid: ${event.seq}\ndata: ${JSON.stringify(event)}\n\n`;
  });
  return {
    url: "http://127.0.0.1:1",
    call: async () => ({ events: [], last_seq: 0 }) as never,
    open: async () => new Response(lines.join("")),
  };
}

test("an end whose daemon dies before it is read is read when the daemon is back", async () => {
  let reads = 0;
  const read = async () => {
    reads += 1;
    if (reads === 2) throw new AegisError("unavailable", "gone");
    return reads;
  };
  const client = streaming(["run.ended", "daemon.started"]);
  const isOver = (value: number) => value > 2;
  const concerns = ({ type }: { type: string }) => type === "run.ended";
  expect(await waitUntilOver(client, { read, isOver, concerns })).toBe(3);
});

test("any other refusal is told", async () => {
  let reads = 0;
  const read = async () => {
    reads += 1;
    if (reads === 2) throw new AegisError("not_found", "no such run");
    return reads;
  };
  const waiting = waitUntilOver(streaming(["run.ended"]), { read, isOver: () => false, concerns: () => true });
  await expect(waiting).rejects.toMatchObject({ code: "not_found" });
});
