import { memoryApp } from "@aegis/test/helpers/memory-terminal.ts";
import { sampleModel, sampleSessions } from "@aegis/test/helpers/sample-team.ts";
import { describe, expect, it } from "vitest";
import { hintsFor } from "../src/guide.ts";
import { isKey, Keymap, keyName } from "../src/keymap.ts";
import { createKeymap } from "../src/main.ts";
import type { ScreenName } from "../src/ui.ts";

const keymap = createKeymap({});

describe("the default keys", () => {
  it("are no printable characters where the editor is open", () => {
    const open = keymap.actions.filter(({ layer }) => layer === "global" || layer === "session");
    expect(open.flatMap(({ keys }) => keys).filter((key) => key.length === 1)).toEqual([]);
  });

  it("of a screen do not hide a global key", () => {
    const global = new Set(keymap.actions.filter(({ layer }) => layer === "global").flatMap(({ keys }) => keys));
    const hidden = keymap.actions.filter(
      ({ layer, keys }) => layer !== "global" && keys.some((key) => global.has(key)),
    );
    expect(hidden.map(({ id }) => id)).toEqual([]);
  });

  it("have a second key where a plain terminal cannot send the first", () => {
    const needsProtocol = /^ctrl\+\d$|^shift\+enter$/;
    const only = keymap.actions.filter(({ keys }) => keys.length > 0 && keys.every((key) => needsProtocol.test(key)));
    expect(only.map(({ id }) => id)).toEqual([]);
  });

  it("have unique action ids", () => {
    const ids = keymap.actions.map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
  });
});

describe("a person's keys", () => {
  it("replace the defaults", () => {
    expect(new Keymap(keymap.actions, { redraw: ["f8"] }).keysOf("redraw")).toEqual(["f8"]);
  });

  it.each([
    [{ reddraw: "f8" }, 'there is no action reddraw (did you mean "redraw"?)'],
    [{ redraw: "ctrl+p" }, "ctrl+p is the key of both redraw and palette"],
    [{ redraw: "ctrl+i" }, "redraw: ctrl+i cannot be used, because it is the same as Tab"],
  ])("are refused if they are wrong: %j", (keys, problem) => {
    expect(() => new Keymap(keymap.actions, keys)).toThrow(problem);
  });
});

it("names keys as people do, and tells Ctrl+J from Enter", () => {
  expect(["ctrl+d", "alt+up", "f4", "escape", "x", "?"].map(keyName)).toEqual([
    "Ctrl+D",
    "Alt+↑",
    "F4",
    "Esc",
    "x",
    "?",
  ]);
  expect([isKey("\n", "enter"), isKey("\n", "ctrl+j"), isKey("\r", "enter")]).toEqual([false, true, true]);
  expect([isKey("K", "K"), isKey("k", "K"), isKey("K", "k")]).toEqual([true, false, false]);
});

it.each(["session", "dashboard", "needs", "team", "agents"] as const)(
  "shows only keys that do something on %s",
  (screen: ScreenName) => {
    const { app } = memoryApp(sampleModel());
    app.openSession(sampleSessions.lucid);
    app.show(screen);
    const hints = hintsFor(app, keymap);
    expect(hints.length).toBeGreaterThan(2);
    for (const { keys, title } of hints) {
      const action = keymap.active(app).find((one) => keymap.keysOf(one.id).map(keyName).includes(keys));
      expect([keys, action?.title.startsWith(title)]).toEqual([keys, true]);
    }
  },
);
