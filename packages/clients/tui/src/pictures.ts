/** Images of messages, drawn where the terminal can draw them. */

import type { Client } from "@aegis/client/client.ts";
import type { Message } from "@aegis/contract/message.ts";
import { Image } from "@earendil-works/pi-tui/dist/components/image.js";
import { cropKittyImageLine, isImageLine } from "@earendil-works/pi-tui/dist/terminal-image.js";

type Attachment = Message["attachments"][number];

/** Larger images would fill the conversation. */
const mostColumns = 60;
const mostRows = 16;
/** Images that are kept; each is at most 5 MB. */
const mostKept = 8;

/**
 * The protocol of the terminal; null if it draws no images. Multiplexers do not pass images on. iTerm2's own protocol
 * cannot be used on the alternate screen.
 */
export function imageProtocol(env: Readonly<Record<string, string | undefined>>): "kitty" | null {
  const term = env.TERM?.toLowerCase() ?? "";
  if (env.TMUX !== undefined || env.ZELLIJ !== undefined || /^(?:tmux|screen)/.test(term)) return null;
  const program = env.TERM_PROGRAM?.toLowerCase() ?? "";
  const isKnown = /^(?:kitty|ghostty|wezterm|warpterminal)$/.test(program) || /kitty|ghostty/.test(term);
  return isKnown || env.KITTY_WINDOW_ID !== undefined || env.WEZTERM_PANE !== undefined ? "kitty" : null;
}

export class Pictures {
  readonly #client: Client;
  readonly #onLoaded: () => void;
  /** Null while it is being loaded, or if it cannot be. */
  readonly #images = new Map<string, Image | null>();

  constructor(client: Client, onLoaded: () => void) {
    this.#client = client;
    this.#onLoaded = onLoaded;
  }

  /** The rows of an image; null if it is not loaded yet, or if the terminal draws only PNG images and it is another. */
  lines(message: Message, attachment: Attachment, width: number): readonly string[] | null {
    const { sha256, media_type } = attachment;
    if (media_type !== "image/png") return null;
    const known = this.#images.get(sha256);
    if (known === undefined) void this.#load(message, attachment);
    return known?.render(width) ?? null;
  }

  async #load(message: Message, { sha256, media_type }: Attachment): Promise<void> {
    const [oldest] = this.#images.keys();
    if (this.#images.size >= mostKept && oldest !== undefined) this.#images.delete(oldest);
    this.#images.set(sha256, null);
    const path = { message: message.id, sha256 };
    const loaded = await this.#client.call("getAttachment", { path }).catch(() => null);
    if (loaded === null) return;
    const limits = { maxWidthCells: mostColumns, maxHeightCells: mostRows };
    this.#images.set(sha256, new Image(loaded.data, media_type, { fallbackColor: (text) => text }, limits));
    this.#onLoaded();
  }
}

/** Cuts images that would reach below the last row. */
export function cropImages(rows: readonly string[]): string[] {
  return rows.map((row, index) => (isImageLine(row) ? cropKittyImageLine(row, 0, rows.length - index) : row));
}

/** Removes images, which would cover what is drawn over these rows. */
export function withoutImages(rows: readonly string[]): string[] {
  return rows.map((row) => (isImageLine(row) ? "" : row));
}
