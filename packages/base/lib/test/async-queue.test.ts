import { expect, it } from "vitest";
import { AsyncQueue } from "../src/async-queue.ts";

const texts = () =>
  new AsyncQueue<string>({
    weigh: (text) => text.length,
    most: 10,
    merge: (before, after) => (before.length + after.length <= 4 ? before + after : null),
  });

it("gives what was pushed, in order, and ends", async () => {
  const queue = new AsyncQueue<number>();
  for (const item of [1, 2, 3]) queue.push(item);
  queue.end();
  queue.push(4);
  expect(await Array.fromAsync(queue)).toEqual([1, 2, 3]);
});

it("joins neighbours that wait, and loses nothing by it", async () => {
  const queue = texts();
  for (const text of ["ab", "c", "d", "e", "fgh"]) queue.push(text);
  queue.end();
  const given = await Array.fromAsync(queue);
  expect(given).toEqual(["abcd", "efgh"]);
});

it("has no room while the reader is behind, and room again when it has caught up", async () => {
  const queue = texts();
  const reader = queue[Symbol.asyncIterator]();
  const first = reader.next();
  queue.push("abcd");
  await first;
  expect(queue.room()).toBeNull();
  for (const text of ["efgh", "ijkl", "mnop"]) queue.push(text);
  const room = queue.room();
  expect(room).not.toBeNull();
  let isFree = false;
  const freed = room?.then(() => {
    isFree = true;
  });
  expect(isFree).toBe(false);
  for (const text of ["efgh", "ijkl", "mnop"]) expect((await reader.next()).value).toBe(text);
  await freed;
  expect(queue.room()).toBeNull();
});

it("blocks no writer for a reader that is not there, or has left", async () => {
  const queue = texts();
  queue.push("x".repeat(100));
  expect(queue.room()).toBeNull();
  const reader = queue[Symbol.asyncIterator]();
  await reader.next();
  for (let n = 0; n < 5; n++) queue.push("abcd");
  const room = queue.room();
  await reader.return?.(undefined);
  await room;
  expect(queue.room()).toBeNull();
});
