import { expect, it } from "vitest";
import { StartQueue } from "../src/host/start-queue.ts";

function recorded() {
  const started: string[] = [];
  const ends = new Map<string, PromiseWithResolvers<string>>();
  const start = (name: string) => () => {
    started.push(name);
    const end = Promise.withResolvers<string>();
    ends.set(name, end);
    return end.promise;
  };
  return { started, start, end: (name: string) => ends.get(name)?.resolve(name), ends };
}

it("starts no more than its bound at once, in order", async () => {
  const { started, start, end } = recorded();
  const queue = new StartQueue(2);
  const all = ["a", "b", "c", "d"].map((name) => queue.add(start(name)).done);
  expect(started).toEqual(["a", "b"]);
  end("b");
  expect(await all[1]).toBe("b");
  expect(started).toEqual(["a", "b", "c"]);
});

it("starts what a caller waits for at once, and only once", async () => {
  const { started, start, end } = recorded();
  const queue = new StartQueue(1);
  queue.add(start("a"));
  queue.add(start("b"));
  const last = queue.add(start("c"));
  last.hurry();
  last.hurry();
  expect(started).toEqual(["a", "c"]);
  end("c");
  expect(await last.done).toBe("c");
  expect(started).toEqual(["a", "c"]);
});

it("goes on after a start that fails", async () => {
  const { started, start } = recorded();
  const queue = new StartQueue(1);
  const failed = queue.add(() => Promise.reject(new Error("no")));
  queue.add(start("next"));
  await expect(failed.done).rejects.toThrow("no");
  expect(started).toEqual(["next"]);
});
