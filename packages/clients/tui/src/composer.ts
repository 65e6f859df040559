/** The message editor: drafts of each session, what was sent before, pasted images, and the external editor. */

import type { SessionId } from "@aegis/contract/ids.ts";
import { plain } from "@aegis/lib/plain-text.ts";
import { Editor } from "@earendil-works/pi-tui/dist/components/editor.js";
import type { TuiAltScreen } from "@earendil-works/pi-tui/dist/tui-alt-screen.js";
import { createCompletion } from "./complete.ts";
import { type AttachedImage, attachedImages } from "./images.ts";
import type { Role } from "./theme.ts";
import { boundUndo } from "./undo.ts";

export type ComposerOptions = Parameters<typeof createCompletion>[0] & {
  tui: TuiAltScreen;
  paint(role: Role, text: string): string;
  onSend(text: string): void;
};

/** Images that were pasted but not sent. */
const mostPasted = 20;

export class Composer {
  readonly editor: Editor;
  readonly #options: ComposerOptions;
  readonly #drafts = new Map<SessionId, string>();
  readonly #pasted = new Map<string, AttachedImage>();
  readonly sent: string[] = [];

  constructor(options: ComposerOptions) {
    this.#options = options;
    const paint = (role: Role) => (text: string) => options.paint(role, text);
    this.editor = new Editor(
      options.tui,
      {
        borderColor: paint("dim"),
        selectList: {
          selectedPrefix: paint("run"),
          selectedText: paint("bold"),
          description: paint("dim"),
          scrollInfo: paint("dim"),
          noMatch: paint("dim"),
        },
      },
      { autocompleteMaxVisible: 6 },
    );
    boundUndo(this.editor);
    this.editor.focused = true;
    this.editor.onSubmit = (text) => options.onSend(text);
    this.editor.setAutocompleteProvider(createCompletion(options));
  }

  get text(): string {
    return this.editor.getText();
  }

  /** The whole text, with what was pasted. */
  get expanded(): string {
    return this.editor.getExpandedText();
  }

  set(text: string): void {
    this.editor.setText(plain(text));
  }

  insert(text: string): void {
    this.editor.insertTextAtCursor(text);
  }

  /** Takes the whole text out of the editor. */
  take(): string {
    const text = this.expanded;
    this.editor.setText("");
    return text;
  }

  /** Keeps the draft of one session and shows that of another. A draft without a session goes to the first one. */
  switchTo(id: SessionId, from: SessionId | null): void {
    if (from !== null) this.#drafts.set(from, this.expanded);
    const draft = this.#drafts.get(id) ?? (from === null ? this.expanded : "");
    if (draft !== this.text) this.editor.setText(draft);
  }

  remember(text: string): void {
    this.editor.addToHistory(text);
    this.sent.push(text);
  }

  /** Puts a mark for the image into the text. The image is sent with a message that still contains the mark. */
  attach(data: string): void {
    let number = 1;
    while (this.#pasted.has(markOf(number))) number += 1;
    const mark = markOf(number);
    const [oldest] = this.#pasted.keys();
    if (this.#pasted.size >= mostPasted && oldest !== undefined) this.#pasted.delete(oldest);
    this.#pasted.set(mark, { name: `image-${number}.png`, data });
    this.insert(`${mark} `);
  }

  /** The images that a text names: pasted ones, and files as `@picture.png`. */
  async imagesOf(text: string): Promise<AttachedImage[]> {
    const pasted = [...this.#pasted].flatMap(([mark, image]) => (text.includes(mark) ? [image] : []));
    return [...pasted, ...(await attachedImages(text, this.#options.root))];
  }

  /** The images of this text were sent. */
  forget(text: string): void {
    for (const mark of this.#pasted.keys()) if (text.includes(mark)) this.#pasted.delete(mark);
  }
}

function markOf(number: number): string {
  return `[image #${number}]`;
}
