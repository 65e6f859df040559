/** The state of a text being typed, and the effect of each key. Draws nothing and sends nothing. */
import { plainText } from "../format/text.ts";
import { graphemeAt, graphemeBefore, wordAfter, wordBefore } from "./graphemes.ts";
import type { Key, KeyName } from "./keys.ts";
import { type Geometry, moveVertically } from "./layout.ts";

export type EditorState = {
  readonly text: string;
  readonly cursor: number;
  /** Sent texts, oldest first. */
  readonly history: readonly string[];
  /** The index of the shown history entry; null while the user types a new text. */
  readonly shown: number | null;
  /** The new text while a history entry is shown. */
  readonly draft: string;
  /** The last deletion of more than one character. */
  readonly deleted: string;
};

/** What a key requests from the program around the editor. */
export type Effect =
  | { kind: "none" }
  | { kind: "submit"; text: string }
  | { kind: "complete" }
  | { kind: "interrupt" }
  | { kind: "leave" }
  | { kind: "suspend" }
  | { kind: "redraw" };

export type Step = { state: EditorState; effect: Effect };

const mostHistory = 200;
const none: Effect = { kind: "none" };

export const emptyEditor: EditorState = { text: "", cursor: 0, history: [], shown: null, draft: "", deleted: "" };

export function press(state: EditorState, key: Key, geometry: Geometry): Step {
  if (key.kind === "text") return edited(insert(state, harmless(key.text)));
  if (key.kind === "paste") return edited(insert(state, harmless(key.text)));
  return pressNamed(state, key.name, geometry);
}

/** Inserts a text at the cursor. */
export function insert(state: EditorState, text: string): EditorState {
  return replace(state, state.cursor, state.cursor, text);
}

/** Empties the text and adds it to the history as the newest entry. */
export function clear(state: EditorState): EditorState {
  return { ...state, text: "", cursor: 0, shown: null, draft: "", history: remembered(state.history, state.text) };
}

function pressNamed(state: EditorState, name: KeyName, geometry: Geometry): Step {
  const { text, cursor } = state;
  switch (name) {
    case "enter":
      if (text[cursor - 1] === "\\" && cursor === text.length) return edited(replace(state, cursor - 1, cursor, "\n"));
      return { state: clear(state), effect: { kind: "submit", text } };
    case "newline":
      return edited(insert(state, "\n"));
    case "backspace":
      return edited(replace(state, graphemeBefore(text, cursor), cursor, ""));
    case "delete":
      return edited(replace(state, cursor, cursor + graphemeAt(text, cursor).length, ""));
    case "end-of-input":
      if (text === "") return { state, effect: { kind: "leave" } };
      return edited(replace(state, cursor, cursor + graphemeAt(text, cursor).length, ""));
    case "left":
      return moved(state, graphemeBefore(text, cursor));
    case "right":
      return moved(state, cursor + graphemeAt(text, cursor).length);
    case "word-left":
      return moved(state, wordBefore(text, cursor));
    case "word-right":
      return moved(state, wordAfter(text, cursor));
    case "home":
      return moved(state, lineStart(state));
    case "end":
      return moved(state, lineEnd(state));
    case "up": {
      const above = moveVertically(text, cursor, geometry, -1);
      return above === null ? edited(older(state)) : moved(state, above);
    }
    case "down": {
      const below = moveVertically(text, cursor, geometry, 1);
      return below === null ? edited(newer(state)) : moved(state, below);
    }
    case "delete-word-left":
      return edited(cut(state, wordBefore(text, cursor), cursor));
    case "delete-word-right":
      return edited(cut(state, cursor, wordAfter(text, cursor)));
    case "delete-to-start":
      // At the start of a line, joins the line with the previous one.
      return edited(cut(state, lineStart(state) === cursor ? Math.max(0, cursor - 1) : lineStart(state), cursor));
    case "delete-to-end":
      return edited(cut(state, cursor, lineEnd(state) === cursor ? Math.min(text.length, cursor + 1) : lineEnd(state)));
    case "yank":
      return edited(insert(state, state.deleted));
    case "tab":
      return { state, effect: { kind: "complete" } };
    case "interrupt":
      return { state, effect: { kind: "interrupt" } };
    case "suspend":
      return { state, effect: { kind: "suspend" } };
    case "redraw":
      return { state, effect: { kind: "redraw" } };
  }
}

function edited(state: EditorState): Step {
  return { state, effect: none };
}

function moved(state: EditorState, cursor: number): Step {
  return edited({ ...state, cursor });
}

function replace(state: EditorState, from: number, to: number, by: string): EditorState {
  const text = state.text.slice(0, from) + by + state.text.slice(to);
  return { ...state, text, cursor: from + by.length };
}

function cut(state: EditorState, from: number, to: number): EditorState {
  if (from === to) return state;
  return { ...replace(state, from, to, ""), deleted: state.text.slice(from, to) };
}

function lineStart({ text, cursor }: EditorState): number {
  return cursor === 0 ? 0 : text.lastIndexOf("\n", cursor - 1) + 1;
}

function lineEnd({ text, cursor }: EditorState): number {
  const end = text.indexOf("\n", cursor);
  return end === -1 ? text.length : end;
}

function older(state: EditorState): EditorState {
  const index = (state.shown ?? state.history.length) - 1;
  const text = state.history[index];
  if (text === undefined) return state;
  const draft = state.shown === null ? state.text : state.draft;
  return { ...state, text, cursor: text.length, shown: index, draft };
}

function newer(state: EditorState): EditorState {
  if (state.shown === null) return state;
  const index = state.shown + 1;
  const text = state.history[index];
  if (text === undefined) return { ...state, text: state.draft, cursor: state.draft.length, shown: null, draft: "" };
  return { ...state, text, cursor: text.length, shown: index };
}

function remembered(history: readonly string[], text: string): readonly string[] {
  if (text.trim() === "" || history.at(-1) === text) return history;
  return [...history, text].slice(-mostHistory);
}

/** Keeps line breaks; removes everything that could control this terminal or that of a reader. */
function harmless(text: string): string {
  return plainText(text.replace(/\r\n?/g, "\n")).toWellFormed();
}
