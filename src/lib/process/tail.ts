/** Keeps the last lines of an endless stream in bounded memory. */

export interface Tail {
  push(chunk: Uint8Array): void;
  text(): string;
}

const maxBytes = 64 * 1024;
const maxLines = 40;

export function createTail(): Tail {
  let chunks: Uint8Array[] = [];
  let size = 0;
  let cut = false;

  return {
    push(chunk) {
      chunks.push(chunk);
      size += chunk.length;
      if (size <= maxBytes * 2) return;
      const kept = Buffer.concat(chunks).subarray(-maxBytes);
      // A copy, because a view would retain the whole discarded buffer.
      chunks = [Buffer.from(kept)];
      size = kept.length;
      cut = true;
    },
    text() {
      const all = Buffer.concat(chunks);
      const kept = all.subarray(-maxBytes);
      const rows = kept.toString("utf8").trimEnd().split("\n");
      if ((cut || kept.length < all.length) && rows.length > 1) rows.shift();
      return rows.slice(-maxLines).join("\n");
    },
  };
}
