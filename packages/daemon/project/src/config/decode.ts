/** Decodes the bytes of a config file as UTF-8 and reports the position of the first invalid byte. */

export const maxFileBytes = 1024 * 1024;

export type TextPosition = { line: number; column: number };

export const fileStart: TextPosition = { line: 1, column: 1 };

/** Returns the text, or the reason why the bytes are not a usable config file. */
export function decodeText(bytes: Uint8Array): { text: string } | { at: TextPosition; message: string } {
  if (bytes.length > maxFileBytes) return { at: fileStart, message: tooLarge(bytes.length) };
  const zero = bytes.indexOf(0);
  if (zero !== -1) return { at: placeOfByte(bytes, zero), message: "expected text, found a NUL byte" };
  try {
    return { text: new TextDecoder("utf-8", { fatal: true }).decode(bytes) };
  } catch {
    return { at: placeOfByte(bytes, firstBadByte(bytes)), message: "expected UTF-8 text, found a byte that is not" };
  }
}

export function tooLarge(size: number): string {
  return `expected at most ${maxFileBytes} bytes, found ${size}`;
}

function placeOfByte(bytes: Uint8Array, index: number): TextPosition {
  const before = Buffer.from(bytes.subarray(0, index)).toString("utf8");
  const lineStart = before.lastIndexOf("\n") + 1;
  return { line: before.split("\n").length, column: before.length - lineStart + 1 };
}

/** Finds the first invalid byte with a streaming decoder, which fails in the first invalid chunk. */
function firstBadByte(bytes: Uint8Array): number {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  for (let index = 0; index < bytes.length; index++) {
    try {
      decoder.decode(bytes.subarray(index, index + 1), { stream: true });
    } catch {
      return index;
    }
  }
  return bytes.length;
}
