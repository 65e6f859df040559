/** The rows of a conversation as items of the screen. An item that did not change keeps its identity, to be cached. */
import type { Row, RowBody } from "@aegis/client/model/row.ts";
import type { Transcript } from "@aegis/client/model/transcript.ts";
import { splitBlocks } from "./facts/blocks.ts";

type BodyOf<K extends RowBody["kind"]> = Extract<RowBody, { kind: K }>;

export type Item = { readonly key: string } & (
  | Readonly<BodyOf<"message" | "plan" | "notice" | "end">>
  /** One block of a text. `streaming`: more may follow. */
  | { readonly kind: "text" | "thinking"; readonly text: string; readonly streaming: boolean }
  | (Readonly<BodyOf<"tool">> & { readonly ms: number | null })
);
export type ItemOf<K extends Item["kind"]> = Extract<Item, { kind: K }>;

export class Items {
  readonly #known = new WeakMap<Row, { version: number; items: readonly Item[] }>();
  #transcript: Transcript | null = null;
  #version = -1;
  #items: readonly Item[] = [];

  of(transcript: Transcript): readonly Item[] {
    if (transcript === this.#transcript && transcript.version === this.#version) return this.#items;
    this.#transcript = transcript;
    this.#version = transcript.version;
    this.#items = transcript.rows.flatMap((row) => this.#ofRow(row));
    return this.#items;
  }

  #ofRow(row: Row): readonly Item[] {
    const known = this.#known.get(row);
    if (known?.version === row.version) return known.items;
    const items = itemsOf(row).map((item, index) => {
      const before = known?.items[index];
      return before !== undefined && isSameBlock(before, item) ? before : item;
    });
    this.#known.set(row, { version: row.version, items });
    return items;
  }
}

function itemsOf({ key, at, body }: Row): Item[] {
  switch (body.kind) {
    case "turn":
      return [];
    case "text":
    case "thinking": {
      const text = body.parts.join("");
      // Thinking is folded, so it stays one item.
      const blocks = body.kind === "thinking" ? [text] : splitBlocks(text);
      return blocks.map((block, index) => ({
        kind: body.kind,
        key: `${key}:${index}`,
        text: block,
        streaming: body.live && index === blocks.length - 1,
      }));
    }
    case "tool":
      return [{ ...body, key, ms: body.result === null ? null : body.result.at - at }];
    case "compaction":
      return [
        {
          kind: "notice",
          key,
          level: "info",
          text: "The conversation was summarised to fit the model's context.",
        },
      ];
    default:
      return [{ ...body, key }];
  }
}

function isSameBlock(a: Item, b: Item): boolean {
  if (a.kind !== "text" && a.kind !== "thinking") return false;
  return b.kind === a.kind && a.text === b.text && a.streaming === b.streaming;
}
