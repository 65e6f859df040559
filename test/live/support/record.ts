/** What a run saw of one harness, as a small file from which the table in `docs/drivers.md` is made. */
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import type { LiveHarness } from "./harness.ts";
import { type Row, rows } from "./rows.ts";

/** `true` and `false` are yes and no. */
export type Sight = boolean | string;
export type Sights = Partial<Record<Row, Sight>>;
export type Seen = { harness: string; version: string; sights: Sights };

const folder = new URL("seen/", import.meta.url);

export class Recorder {
  readonly #harness: LiveHarness;
  readonly #sights: Sights = {};

  constructor(harness: LiveHarness) {
    this.#harness = harness;
  }

  see(row: Row, sight: Sight): void {
    this.#sights[row] = sight;
  }

  async seen(): Promise<Seen> {
    const { harness } = this.#harness;
    return { harness, version: await pinnedVersion(this.#harness.package), sights: this.#sights };
  }

  /** A run in which something failed keeps the record of the last good one. */
  async save(): Promise<void> {
    if (Object.keys(rows).some((row) => !(row in this.#sights))) return;
    await mkdir(folder, { recursive: true });
    await writeFile(fileOf(this.#harness.harness), `${JSON.stringify(await this.seen(), null, 2)}\n`);
  }
}

export async function readSeen(harness: string): Promise<Seen> {
  return JSON.parse(await readFile(fileOf(harness), "utf8")) as Seen;
}

function fileOf(harness: string): string {
  return fileURLToPath(new URL(`${harness}.json`, folder));
}

async function pinnedVersion(name: string): Promise<string> {
  const manifest = await readFile(new URL("../package.json", import.meta.url), "utf8");
  const { dependencies } = JSON.parse(manifest) as { dependencies: Record<string, string> };
  return dependencies[name] ?? "unknown";
}
