/**
 * What a conversation has seen of the project's files. A file is changed only by an agent that knows what is in it now:
 * several agents and a person work in the same folder.
 */
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { isErrno } from "../../../lib/files.ts";
import { ToolError } from "./tool-error.ts";

export class SeenFiles {
  readonly #hashes = new Map<string, string>();

  note(path: string, content: Uint8Array): void {
    this.#hashes.set(path, hash(content));
  }

  /** The file's content for a change, or null when there is none. Refuses what was not read or has changed since. */
  async forChange(path: string, shown: string): Promise<Buffer | null> {
    const known = this.#hashes.get(path);
    const content = await readIfThere(path);
    if (content === null) {
      if (known === undefined) return null;
      this.#hashes.delete(path);
      throw new ToolError(`stale: ${shown} was deleted since you read it. Look again before you write it anew.`);
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
