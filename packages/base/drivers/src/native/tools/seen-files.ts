/**
 * Tracks which versions of the project's files a conversation has read. An agent may change a file only if it has read
 * its current content: several agents and a person work in the same folder.
 */
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { isErrno } from "@aegis/lib/files.ts";
import { ToolError } from "./tool.ts";

export class SeenFiles {
  readonly #hashes = new Map<string, string>();

  note(path: string, content: Uint8Array): void {
    this.#hashes.set(path, hash(content));
  }

  /**
   * The file's content for a change, or null if there is none. Rejects a file that was not read or has changed since.
   */
  async forChange(path: string, shown: string): Promise<Buffer | null> {
    const known = this.#hashes.get(path);
    const content = await readIfThere(path);
    if (content === null) {
      if (known === undefined) return null;
      this.#hashes.delete(path);
      throw new ToolError(`stale: ${shown} was deleted since you read it. Check again before you write it.`);
    }
    if (known === undefined) throw new ToolError(`${shown} exists and you have not read it. Read it first.`);
    if (known !== hash(content))
      throw new ToolError(`stale: ${shown} was changed by someone else since you read it. Read it again, then retry.`);
    return content;
  }
}

async function readIfThere(path: string): Promise<Buffer | null> {
  try {
    return await readFile(path);
  } catch (error) {
    if (isErrno(error, "ENOENT")) return null;
    if (isErrno(error, "EISDIR")) throw new ToolError(`${path} is a folder.`);
    throw error;
  }
}

function hash(content: Uint8Array): string {
  return createHash("sha256").update(content).digest("hex");
}
