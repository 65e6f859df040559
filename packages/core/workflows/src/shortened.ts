/** Shortens a command's output: text that is too long loses its middle, with a note. */
import { open } from "node:fs/promises";

const mostBytes = 4 * 1024 * 1024;
const headBytes = 1024 * 1024;
const tailBytes = mostBytes - headBytes;

/** Output that arrives in chunks. Holds no more in memory than it keeps. */
export class ShortenedOutput {
  #head: Buffer[] = [];
  #headBytes = 0;
  #tail: Buffer[] = [];
  #tailBytes = 0;
  #total = 0;

  push(piece: Uint8Array): void {
    this.#total += piece.length;
    const room = mostBytes - this.#headBytes;
    if (room > 0) {
      const part = Buffer.from(piece.subarray(0, room));
      this.#head.push(part);
      this.#headBytes += part.length;
    }
    if (piece.length <= room) return;
    const rest = Buffer.from(piece.subarray(Math.max(0, room)));
    this.#tail.push(rest);
    this.#tailBytes += rest.length;
    if (this.#tailBytes > 2 * tailBytes) this.#dropOld();
  }

  toString(): string {
    const head = Buffer.concat(this.#head);
    if (this.#total <= mostBytes) return head.toString("utf8");
    const all = Buffer.concat([head.subarray(headBytes), ...this.#tail]);
    return joined(head.subarray(0, headBytes), all.subarray(all.length - tailBytes), this.#total);
  }

  #dropOld(): void {
    const tail = Buffer.concat(this.#tail);
    const last = Buffer.from(tail.subarray(tail.length - tailBytes));
    this.#tail = [last];
    this.#tailBytes = last.length;
  }
}

/** Reads a file without reading more than it keeps. Empty if the file does not exist. */
export async function shortenedFile(path: string): Promise<string> {
  const file = await open(path, "r").catch(() => null);
  if (file === null) return "";
  try {
    const { size } = await file.stat();
    if (size <= mostBytes) return (await file.readFile()).toString("utf8");
    const part = async (start: number, length: number) =>
      (await file.read(Buffer.alloc(length), 0, length, start)).buffer;
    return joined(await part(0, headBytes), await part(size - tailBytes, tailBytes), size);
  } finally {
    await file.close();
  }
}

function joined(head: Buffer, tail: Buffer, total: number): string {
  return `${head.toString("utf8")}\n[… ${total - mostBytes} bytes are left out …]\n${tail.toString("utf8")}`;
}
