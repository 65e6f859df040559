/** Real ZIP archives for tests, also such as no honest program writes. */
import { type Zippable, zipSync } from "fflate";

export type ZipEntry = string | Uint8Array | { content: string | Uint8Array; mode: number };

/** A mode makes the entry one of Unix: `0o100755` a program, `0o120777` a link whose content is its target. */
export function makeZip(entries: Record<string, ZipEntry>): Buffer {
  const files: Zippable = {};
  for (const [path, entry] of Object.entries(entries)) {
    if (typeof entry === "string" || entry instanceof Uint8Array) files[path] = bytes(entry);
    else files[path] = [bytes(entry.content), { os: 3, attrs: (entry.mode << 16) >>> 0 }];
  }
  return Buffer.from(zipSync(files, { level: 9 }));
}

/** Changes the names of entries in place; both names must be of one length. */
export function renameInZip(zip: Buffer, from: string, to: string): Buffer {
  if (from.length !== to.length) throw new Error("the names must be of one length");
  const copy = Buffer.from(zip);
  for (let at = copy.indexOf(from); at !== -1; at = copy.indexOf(from, at + 1)) copy.write(to, at);
  return copy;
}

function bytes(content: string | Uint8Array): Uint8Array {
  return typeof content === "string" ? new TextEncoder().encode(content) : content;
}
