import fc from "fast-check";
import { expect, it } from "vitest";
import { type EditorState, type Effect, emptyEditor, press } from "../../src/line-editor/editor.ts";
import { type Key, type KeyName, KeyReader } from "../../src/line-editor/keys.ts";

const geometry = { first: 20, rest: 20 };

/** Types bytes; `|` marks the cursor in the text that comes out. */
function typed(bytes: string, state: EditorState = emptyEditor) {
  const effects: Effect[] = [];
  let editor = state;
  for (const key of new KeyReader().feed(Buffer.from(bytes))) {
    const step = press(editor, key, geometry);
    editor = step.state;
    if (step.effect.kind !== "none") effects.push(step.effect);
  }
  return { editor, effects, text: `${editor.text.slice(0, editor.cursor)}|${editor.text.slice(editor.cursor)}` };
}

const up = "\u001b[A";
const down = "\u001b[B";
const left = "\u001b[D";

it("edits by character as people see them", () => {
  expect(typed(`a👩‍👩‍👧b${left}\u007f`).text).toBe("a|b");
  expect(typed(`e\u0301x${left}${left}\u001b[3~`).text).toBe("|x");
  expect(typed("🇩🇪🇫🇷\u007f").text).toBe("🇩🇪|");
});

it("moves and deletes by words and lines", () => {
  expect(typed("one two-three\u001bb\u001bb").text).toBe("one |two-three");
  expect(typed("one two\u0001\u001bf").text).toBe("one| two");
  expect(typed("one two\u0017").text).toBe("one |");
  expect(typed("one\ntwo\u0015").text).toBe("one\n|");
  expect(typed("one\ntwo\u0001\u000b").text).toBe("one\n|");
  expect(typed("one two\u0017\u0001\u0019").text).toBe("two|one ");
});

it("begins a line instead of sending: Alt+Enter, Ctrl+J, a backslash at the end", () => {
  expect(typed("a\u001b\rb\nc\\\rd").text).toBe("a\nb\nc\nd|");
  const { effects, text } = typed("a\nb\r");
  expect(effects).toEqual([{ kind: "submit", text: "a\nb" }]);
  expect(text).toBe("|");
});

it("takes a paste as text without anything that could drive a terminal", () => {
  const { effects, text } = typed(
    "\u001b[200~a\r\nb\rc\u0003\u0000\u001b[2J\u001b]0;t\u0007\u009b1m\ud800d\u001b[201~",
  );
  expect(effects).toEqual([]);
  expect(text).toMatch(/^a\nb\nc.*d\|$/);
  expect(text).not.toMatch(/(?!\n)\p{Cc}/u);
});

it("goes through the history and comes back to what was being typed", () => {
  const { editor } = typed("one\rtwo\nlines\r\r");
  expect(typed(`draft${up}`, editor).text).toBe("two\nlines|");
  expect(typed(`draft${up}${up}${up}`, editor).text).toBe("one|");
  expect(typed(`draft${up}${down}${down}`, editor).text).toBe("draft|");
  expect(typed(`a\nb${up}`, editor).text).toBe("a|\nb");
});

it("asks the program around it for what it cannot do itself", () => {
  expect(typed("\u0004\u0003\u001a\u000c\t").effects.map(({ kind }) => kind)).toEqual([
    ...["leave", "interrupt", "suspend", "redraw", "complete"],
  ]);
  expect(typed(`ab${left}\u0004`).text).toBe("a|");
});

it("takes a megabyte of text", () => {
  const { editor } = typed(`\u001b[200~${"some words of a long text\r".repeat(40_000)}\u001b[201~`);
  expect(typed(`x${up}${left}\u007f\u001bb\u0017`, editor).editor.text.length).toBeGreaterThan(1_000_000);
});

it("keeps the text whole, whatever is pressed", () => {
  const names: KeyName[] = ["newline", "backspace", "delete", "left", "right", "up", "down", "home", "end", "enter"];
  const more: KeyName[] = ["word-left", "word-right", "delete-word-left", "delete-word-right", "yank"];
  const lines: KeyName[] = ["delete-to-start", "delete-to-end", "end-of-input", "tab", "interrupt"];
  const key: fc.Arbitrary<Key> = fc.oneof(
    fc.constantFrom(...names, ...more, ...lines).map((name) => ({ kind: "key" as const, name })),
    fc.constantFrom("a", " ", "日", "👩‍👩‍👧", "e\u0301").map((text) => ({ kind: "text" as const, text })),
    fc.constant({ kind: "paste" as const, text: "x\r\ny" }),
  );
  fc.assert(
    fc.property(fc.array(key, { maxLength: 80 }), (keys) => {
      let state = emptyEditor;
      for (const one of keys) {
        const { state: next, effect } = press(state, one, geometry);
        if (effect.kind === "submit") expect(effect.text).toBe(state.text);
        if (one.kind !== "key") expect(next.text.length).toBeGreaterThan(state.text.length);
        if (one.kind === "key" && /left$|right$|^home|^end$/.test(one.name) && !one.name.startsWith("delete"))
          expect(next.text).toBe(state.text);
        expect(next.cursor).toBeGreaterThanOrEqual(0);
        expect(next.cursor).toBeLessThanOrEqual(next.text.length);
        expect(next.text.isWellFormed()).toBe(true);
        state = next;
      }
    }),
  );
});
