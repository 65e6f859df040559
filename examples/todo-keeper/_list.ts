/** The list: one JSON file in the plugin's data folder. */
import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";

export type Item = { id: number; text: string; done: boolean };

export class TodoList {
  readonly #file: string;

  constructor(dataDir: string) {
    this.#file = join(dataDir, "list.json");
  }

  async open(): Promise<Item[]> {
    return (await this.#read()).filter((item) => !item.done);
  }

  /** An open item is not added twice. */
  async add(text: string): Promise<Item> {
    const items = await this.#read();
    const before = items.find((item) => !item.done && item.text === text);
    if (before !== undefined) return before;
    const item = { id: items.length + 1, text, done: false };
    await this.#write([...items, item]);
    return item;
  }

  /** Throws if the item is not open. */
  async finish(id: number): Promise<Item> {
    const items = await this.#read();
    const item = items.find((one) => one.id === id && !one.done);
    if (item === undefined) throw new Error(`there is no open item ${id}`);
    const done = { ...item, done: true };
    await this.#write(items.map((one) => (one.id === id ? done : one)));
    return done;
  }

  async #read(): Promise<Item[]> {
    try {
      return JSON.parse(await readFile(this.#file, "utf8")) as Item[];
    } catch (error) {
      if (error instanceof Error && "code" in error && error.code === "ENOENT") return [];
      throw error;
    }
  }

  async #write(items: readonly Item[]): Promise<void> {
    await mkdir(join(this.#file, ".."), { recursive: true });
    await writeFile(`${this.#file}.new`, JSON.stringify(items));
    await rename(`${this.#file}.new`, this.#file);
  }
}

export function shown(items: readonly Item[]): string {
  return items.map(({ id, text }) => `${id}. ${text}`).join("\n");
}
