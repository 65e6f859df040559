import type { Event } from "@aegis/contract/event.ts";
import { newId } from "@aegis/contract/ids.ts";
import { describe, expect, it } from "vitest";
import { SessionLife } from "../src/session-life.ts";

const session = newId("ses", 1);
const turn = newId("trn", 1);
const event = (type: Event["type"], data: object): Event => ({ seq: 1, at: 1, session, type, data }) as Event;
const started = event("turn.started", { turn, messages: [], spontaneous: false });
const closed = event("session.closed", { reason: "enough", refused: [] });
const ended = event("turn.ended", { turn, reason: "cancelled", error: null, text: "", usage: null });

describe("the end of a session", () => {
  it("comes at once without a turn, and after the turn in progress otherwise", () => {
    const life = new SessionLife();
    expect(life.take(closed)).toEqual({ session, reason: "enough" });
    expect([started, closed, ended].map((one) => life.take(one))).toEqual([null, null, { session, reason: "enough" }]);
    expect([started, ended, closed].map((one) => life.take(one))).toEqual([null, null, { session, reason: "enough" }]);
  });

  it("is looked for when a turn of an earlier daemon ends", () => {
    expect(new SessionLife().take(ended)).toEqual({ session, reason: null });
  });
});

it("each plugin is called once for the start, and everyone waits for all calls", () => {
  const life = new SessionLife();
  const called: string[] = [];
  const call = async (plugin: string) => void called.push(plugin);
  expect(life.start(session, ["a"], call)).toHaveLength(1);
  expect(life.start(session, ["a", "b"], call)).toHaveLength(2);
  expect(called).toEqual(["a", "b"]);
  life.forget(session);
  life.start(session, ["a"], call);
  expect(called).toEqual(["a", "b", "a"]);
});
