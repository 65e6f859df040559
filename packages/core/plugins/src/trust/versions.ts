/**
 * `~/.aegis/agreed`: what each trusted item consisted of, one file for each project. It only explains a refusal; what is
 * trusted is decided by the hashes in `trust.json` alone.
 */
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { makePrivateDir, writeAtomic } from "@aegis/lib/files.ts";
import { z } from "zod";
import type { Exclusive } from "../projects-file.ts";
import type { TrustParts } from "./parts.ts";

const partSchema = z.object({ hash: z.string(), text: z.string().nullable() });
const fileSchema = z.object({
  root: z.string(),
  items: z.record(z.string(), z.record(z.string(), partSchema)),
});

export class AgreedVersions {
  readonly #folder: string;
  readonly #exclusive: Exclusive;

  constructor(folder: string, exclusive: Exclusive) {
    this.#folder = folder;
    this.#exclusive = exclusive;
  }

  async get(root: string, key: string): Promise<TrustParts | null> {
    return (await this.#read(root))[key] ?? null;
  }

  async record(root: string, items: readonly { key: string; parts: () => Promise<TrustParts> }[]): Promise<void> {
    if (items.length === 0) return;
    const fresh: Record<string, TrustParts> = {};
    for (const { key, parts } of items) fresh[key] = await parts();
    await makePrivateDir(this.#folder);
    await this.#exclusive(join(dirname(this.#folder), "locks"), async () => {
      const all = { ...(await this.#read(root)), ...fresh };
      await writeAtomic(this.#path(root), JSON.stringify({ root, items: all }), { mode: 0o600 });
    });
  }

  async #read(root: string): Promise<Readonly<Record<string, TrustParts>>> {
    try {
      const file = fileSchema.parse(JSON.parse(await readFile(this.#path(root), "utf8")), { jitless: true });
      return file.root === root ? file.items : {};
    } catch {
      return {};
    }
  }

  #path(root: string): string {
    return join(this.#folder, `${createHash("sha256").update(root).digest("hex").slice(0, 32)}.json`);
  }
}
