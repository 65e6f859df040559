/**
 * `~/.aegis/gates.json`: the plugins of each project that hold gates or strict hooks. The file is outside the
 * project, so that a change of project files cannot remove a gate.
 */
import { isAbsolute, relative, resolve } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { AegisError } from "@aegis/contract/errors.ts";
import { type HookEvent, hookEvents } from "@aegis/contract/hook.ts";
import { isInside } from "@aegis/lib/files.ts";
import { z } from "zod";
import { type Exclusive, ProjectsFile } from "../projects-file.ts";

const heldHookSchema = z.object({
  event: z.enum(hookEvents as [HookEvent, ...HookEvent[]]),
  name: z.string(),
  strict: z.boolean(),
});
/** A hook whose absence must block what it would have judged. */
export type HeldHook = z.infer<typeof heldHookSchema>;

const recordSchema = z.object({
  /** The plugin's folder or file, relative to the project if it lies inside. */
  place: z.string(),
  /** The hash of the plugin when it was last loaded with consent. */
  hash: z.string(),
  hooks: z.array(heldHookSchema),
  at: z.string(),
});
export type GateRecord = z.infer<typeof recordSchema>;

const fileSchema = z.object({
  gates_version: z.literal(1),
  projects: z.record(z.string(), z.record(z.string(), recordSchema)),
});
const emptyFile: z.infer<typeof fileSchema> = { gates_version: 1, projects: {} };

export type GateRecords = Readonly<Record<string, GateRecord>>;

export type GateStoreOptions = {
  path: string;
  /** The project's real path. */
  root: string;
  exclusive: Exclusive;
  now: () => number;
};

export class GateStore {
  readonly path: string;
  readonly #options: GateStoreOptions;
  readonly #file: ProjectsFile<Record<string, GateRecord>>;
  /** What this process last read or wrote. */
  #known: GateRecords = {};

  constructor(options: GateStoreOptions) {
    this.path = options.path;
    this.#options = options;
    this.#file = new ProjectsFile({
      path: options.path,
      exclusive: options.exclusive,
      schema: fileSchema,
      empty: emptyFile,
      hint: "it lists the gates of your projects; repair it, or remove it to drop all of them",
    });
  }

  /**
   * Keyed by plugin. Throws `invalid` if the file is unusable: it is then unknown which calls are guarded. Aegis never
   * removes the entry of a project, so one that has vanished was removed by another program: it is written again.
   */
  async read(): Promise<GateRecords> {
    const found = await this.#file.get(this.#options.root);
    if (found === undefined && Object.keys(this.#known).length > 0) {
      const known = this.#known;
      await this.#update((records) => ({ ...known, ...records }));
    } else this.#known = found ?? {};
    return this.#known;
  }

  /** Durable when it resolves. */
  async set(plugin: string, record: Omit<GateRecord, "at" | "place"> & { place: string }): Promise<void> {
    const { root, now } = this.#options;
    const place = isInside(root, record.place) ? relative(root, record.place) : record.place;
    const at = new Date(now()).toISOString();
    await this.#update((records) => ({ ...records, [plugin]: { ...record, place, at } }));
  }

  /** Removes exactly the record that was shown. Throws `conflict` if it has changed since. */
  async drop(plugin: string, shown: GateRecord): Promise<void> {
    await this.#update((records) => {
      const { [plugin]: found, ...others } = records;
      if (found !== undefined && !isDeepStrictEqual(found, shown))
        throw new AegisError("conflict", `the gates of "${plugin}" changed while you were asked about them`, {
          hint: `look at them again: aegis plugin drop ${plugin}`,
        });
      return others;
    });
  }

  /** Copies the records of the project's previous folder; existing records stay. */
  async takeOver(from: string): Promise<void> {
    const before = await this.#file.get(from);
    if (before !== undefined) await this.#update((records) => ({ ...before, ...records }));
  }

  placeOf({ place }: Pick<GateRecord, "place">): string {
    return isAbsolute(place) ? place : resolve(this.#options.root, place);
  }

  async #update(change: (records: GateRecords) => GateRecords): Promise<void> {
    await this.#file.update(this.#options.root, (before = {}) => {
      const next = { ...change(before) };
      this.#known = next;
      return next;
    });
  }
}
