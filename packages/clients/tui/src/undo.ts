/**
 * Bounds what the editor remembers for undo. pi-tui keeps a deep copy of the whole text, and of every paste, for each
 * word: after a long message these copies take more memory than the rest of the app. Strings are immutable, so a copy of
 * the lists that hold them is enough.
 */
import type { Editor } from "@earendil-works/pi-tui/dist/components/editor.js";

type Snapshot = {
  state: { lines: string[]; cursorLine: number; cursorCol: number };
  pastes: Map<number, string>;
  pasteCounter: number;
};

const mostSteps = 100;

export class UndoSteps {
  #steps: Snapshot[] = [];

  push({ state, pastes, pasteCounter }: Snapshot): void {
    this.#steps.push({ state: { ...state, lines: [...state.lines] }, pastes: new Map(pastes), pasteCounter });
    if (this.#steps.length > mostSteps) this.#steps.shift();
  }

  pop(): Snapshot | undefined {
    return this.#steps.pop();
  }

  clear(): void {
    this.#steps = [];
  }

  get length(): number {
    return this.#steps.length;
  }
}

/** The field is private in the types of pi-tui; `packages/clients/tui/test/undo.test.ts` notices if it changes. */
export function boundUndo(editor: Editor): void {
  Reflect.set(editor, "undoStack", new UndoSteps());
}
