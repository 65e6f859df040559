/** Reads pages from disk: only regular files, only as much as counts. */
import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs";

/** What a page may be long; the rest is cut. */
export const maxPageBytes = 256 * 1024;
/** More than any header, little enough to read of thousands of files. */
export const headBytes = 40 * 1024;

export type PageText = {
  text: string /** Bytes that were left out. */;
  cut: number /** Bytes that are no text were there. */;
  broken: boolean;
};

/** At most `most` bytes from the start. Throws when it cannot be read, also when it is no regular file. */
export function readPage(file: string, most: number): PageText {
  // A pipe would never answer without this.
  const handle = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const stat = fstatSync(handle);
    if (!stat.isFile()) throw new Error("expected a file, found something else");
    const buffer = Buffer.allocUnsafe(Math.min(stat.size, most));
    let length = 0;
    while (length < buffer.length) {
      const read = readSync(handle, buffer, length, buffer.length - length, length);
      if (read === 0) break;
      length += read;
    }
    const cut = Math.max(0, stat.size - most);
    const text = buffer.toString("utf8", 0, cut > 0 ? characterEnd(buffer, length) : length);
    return { text, cut, broken: text.includes("\uFFFD") };
  } finally {
    closeSync(handle);
  }
}

/** Where the last whole character ends. */
function characterEnd(buffer: Buffer, length: number): number {
  let end = length;
  while (end > 0 && length - end < 4 && ((buffer[end - 1] ?? 0) & 0xc0) === 0x80) end -= 1;
  return end > 0 && (buffer[end - 1] ?? 0) >= 0xc0 ? end - 1 : length;
}
