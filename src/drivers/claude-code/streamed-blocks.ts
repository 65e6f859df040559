/**
 * Names the blocks of a model's message, so that deltas and the whole text after them have the same name. The stream
 * numbers the blocks; the whole message arrives as one event per block, before the stream closes the block.
 */
import { type Json, numberAt, objectAt, textAt } from "../cli-harness/fields.ts";
import type { DriverEvent } from "../driver.ts";

type Open = { message: string; index: number };

export class StreamedBlocks {
  /** By the call of the subagent that writes; "" for the agent itself. */
  readonly #open = new Map<string, Open>();
  readonly #seen = new Map<string, number>();

  /** The delta in a stream event, or null. */
  read(event: Json, parent: string | null): DriverEvent | null {
    const key = parent ?? "";
    switch (event.type) {
      case "message_start":
        this.#open.set(key, { message: textAt(objectAt(event, "message"), "id") ?? "", index: 0 });
        return null;
      case "content_block_start": {
        const open = this.#open.get(key);
        if (open !== undefined) open.index = numberAt(event, "index") ?? open.index;
        return null;
      }
      case "content_block_delta":
        return toDelta(objectAt(event, "delta"), nameFrom(this.#open.get(key)));
      case "message_stop":
        this.#open.delete(key);
        return null;
      default:
        return null;
    }
  }

  /** The name of the block in a whole message. Without a stream the blocks are counted. */
  nameOf(message: string, parent: string | null): string {
    const open = this.#open.get(parent ?? "");
    if (open !== undefined && open.message === message) return nameFrom(open);
    const index = this.#seen.get(message) ?? 0;
    this.#seen.set(message, index + 1);
    return nameFrom({ message, index });
  }

  clear(): void {
    this.#open.clear();
    this.#seen.clear();
  }
}

function nameFrom(open: Open | undefined): string {
  return open === undefined ? "" : `${open.message}:${open.index}`;
}

function toDelta(delta: Json, message: string): DriverEvent | null {
  if (delta.type === "text_delta") return { type: "text_delta", message, text: textAt(delta, "text") ?? "" };
  if (delta.type === "thinking_delta")
    return { type: "thinking_delta", message, text: textAt(delta, "thinking") ?? "" };
  return null;
}
