import type { Event } from "@aegis/contract/event.ts";
import { expect, it } from "vitest";
import { WorkWatch } from "../src/chat/work.ts";
import { elapsed } from "../src/format/time.ts";

const event = (type: string, data: object, at = 1_000) =>
  ({ seq: 1, at, session: null, type, data }) as unknown as Event;

it("knows since when a turn runs and which call is in progress", () => {
  const watch = new WorkWatch();
  watch.learn(event("turn.started", {}, 5_000));
  expect(watch.look(9_000)).toEqual({ since: 5_000, doing: null });
  watch.learn(event("turn.tool_call", { call: "1", name: "bash", title: "npm\n test" }));
  watch.learn(event("turn.tool_call", { call: "2", name: "read", title: "" }));
  expect(watch.look(9_000).doing).toBe("read");
  watch.learn(event("turn.tool_result", { call: "2" }));
  expect(watch.look(9_000).doing).toBe("npm test");
  watch.learn(event("turn.ended", {}));
  expect(watch.look(9_000)).toEqual({ since: 9_000, doing: null });
});

it("tells a time that runs", () => {
  expect([0, 12_900, 65_000, 3_725_000].map(elapsed)).toEqual(["0s", "12s", "1m05s", "1h02m"]);
});
