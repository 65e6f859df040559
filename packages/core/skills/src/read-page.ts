/** Reads pages from disk: regular files only, up to a limit. */
import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs";

/** The limit of a page; the rest is cut. */
export const maxPageBytes = 256 * 1024;
/** More than any header, and small enough to read from thousands of files. */
export const headBytes = 40 * 1024;

export type PageText = {
  text: string;
  /** The number of bytes that were cut. */
  cut: number;
  /** The file contained invalid UTF-8. */
  broken: boolean;
};

/**
 * Reads at most `most` bytes. Throws if the file cannot be read or is not a regular file. `room` is a reusable buffer.
 */
export function readPage(file: string, most: number, room?: Buffer): PageText {
  // Opening a pipe would block without this flag.
  const handle = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const stat = fstatSync(handle);
    if (!stat.isFile()) throw new Error("expected a file, found something else");
    const wanted = Math.min(stat.size, most);
    const buffer = room !== undefined && room.length >= wanted ? room : Buffer.allocUnsafe(wanted);
    let length = 0;
    while (length < wanted) {
      const read = readSync(handle, buffer, length, wanted - length, length);
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

/** The end of the last complete character. */
function characterEnd(buffer: Buffer, length: number): number {
  let end = length;
  while (end > 0 && length - end < 4 && ((buffer[end - 1] ?? 0) & 0xc0) === 0x80) end -= 1;
  return end > 0 && (buffer[end - 1] ?? 0) >= 0xc0 ? end - 1 : length;
}
