/** The part of the project's configuration that an install changes, and how it adds entries and removes them again. */

import { createHash } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import { isAegisError } from "@aegis/contract/errors.ts";
import { isRecord } from "@aegis/lib/is-record.ts";
import type { FilePlan } from "../file-plan.ts";
import { type Addition, additionName } from "../lockfile.ts";

/** The configuration as a plan will leave it. Every change is validated against the whole configuration. */
export interface ProjectConfig {
  /** The merged value at a path; undefined if no file sets it. */
  read(plan: FilePlan, path: readonly string[]): Promise<unknown>;
  /** The value in `.aegis.yaml` alone. */
  readMain(plan: FilePlan, path: readonly string[]): Promise<unknown>;
  /** Edits `.aegis.yaml` and keeps comments. Throws `invalid` if the configuration would be invalid. */
  set(plan: FilePlan, path: readonly string[], value: unknown): Promise<void>;
  remove(plan: FilePlan, path: readonly string[]): Promise<void>;
  /** Adds a schedule in a file of its own; throws `invalid` for a bad name or entry. */
  addSchedule(plan: FilePlan, name: string, entry: Readonly<Record<string, unknown>>): Promise<string>;
  schedulePath(name: string): string;
  /** Throws `invalid` with all problems if the plan would leave the configuration invalid. */
  check(plan: FilePlan): Promise<void>;
  /** With defaults applied and secrets masked, for install scripts. */
  describe(plan: FilePlan): Promise<Record<string, unknown>>;
}

/** Adds to a plan and records what was added. Never replaces existing values. */
export class Additions {
  readonly plan: FilePlan;
  readonly #config: ProjectConfig;
  readonly #list: Addition[];

  constructor(plan: FilePlan, config: ProjectConfig, earlier: readonly Addition[] = []) {
    this.plan = plan;
    this.#config = config;
    this.#list = [...earlier];
  }

  get list(): Addition[] {
    return this.#list;
  }

  /** Returns false if there is already a value. */
  async value(path: readonly string[], value: unknown): Promise<boolean> {
    if ((await this.#config.read(this.plan, path)) !== undefined) return false;
    let had = 0;
    while (had < path.length && (await this.#config.readMain(this.plan, path.slice(0, had + 1))) !== undefined) had++;
    await this.#config.set(this.plan, path, value);
    this.#list.push({ kind: "value", path: [...path], value, had });
    return true;
  }

  /** Sets each key separately, so that a default is added beside what the user wrote. */
  async defaults(path: readonly string[], values: Readonly<Record<string, unknown>>): Promise<void> {
    for (const [key, value] of Object.entries(values)) {
      if (isRecord(value) && Object.keys(value).length > 0) await this.defaults([...path, key], value);
      else await this.value([...path, key], value);
    }
  }

  async schedule(name: string, entry: Readonly<Record<string, unknown>>): Promise<boolean> {
    if ((await this.#config.read(this.plan, ["schedules", name])) !== undefined) return false;
    const path = await this.#config.addSchedule(this.plan, name, entry);
    await this.#note(path);
    return true;
  }

  async file(path: string, text: string): Promise<boolean> {
    if ((await this.plan.read(path)) !== null) return false;
    await this.plan.write(path, Buffer.from(text));
    await this.#config.check(this.plan);
    await this.#note(path);
    return true;
  }

  /** An entry that the script removes is no longer the install's to remove. */
  async removeValue(path: readonly string[]): Promise<boolean> {
    if ((await this.#config.readMain(this.plan, path)) === undefined) return false;
    await this.#config.remove(this.plan, path);
    this.#forget((one) => one.kind === "value" && startsWith(one.path, path));
    return true;
  }

  async removeFile(path: string): Promise<boolean> {
    if ((await this.plan.read(path)) === null) return false;
    await this.plan.write(path, null);
    await this.#config.check(this.plan);
    this.#forget((one) => one.kind === "file" && one.path === path);
    return true;
  }

  /** Removes the additions that are unchanged, the last one first. Returns what had to stay, with the reason. */
  async takeBack(): Promise<string[]> {
    const kept: string[] = [];
    for (const one of this.#list.splice(0).reverse()) {
      const reason = one.kind === "file" ? await this.#takeFile(one) : await this.#takeValue(one);
      if (reason !== null) kept.push(`${additionName(one)} ${reason}`);
    }
    return kept;
  }

  async #takeFile(one: Extract<Addition, { kind: "file" }>): Promise<string | null> {
    const now = await this.plan.read(one.path);
    if (now === null) return null;
    if (contentHash(now) !== one.hash) return "was changed since";
    return this.#orKeep(one.path, now, () => this.plan.write(one.path, null));
  }

  async #takeValue({ path, value, had }: Extract<Addition, { kind: "value" }>): Promise<string | null> {
    const now = await this.#config.readMain(this.plan, path);
    if (now === undefined) return null;
    if (!isDeepStrictEqual(now, value)) return "was changed since";
    try {
      await this.#config.remove(this.plan, path);
    } catch (error) {
      if (isAegisError(error) && error.code === "invalid") return "is still needed by other settings";
      throw error;
    }
    // Removes maps that were created for the value once they are empty.
    for (let length = path.length - 1; length > had; length--) {
      const parent = path.slice(0, length);
      const left = await this.#config.readMain(this.plan, parent);
      if (typeof left !== "object" || left === null || Object.keys(left).length > 0) break;
      await this.#config.remove(this.plan, parent);
    }
    return null;
  }

  async #orKeep(path: string, before: Uint8Array, change: () => Promise<void>): Promise<string | null> {
    await change();
    try {
      await this.#config.check(this.plan);
      return null;
    } catch (error) {
      if (!isAegisError(error) || error.code !== "invalid") throw error;
      await this.plan.write(path, before);
      return "is still needed by other settings";
    }
  }

  async #note(path: string): Promise<void> {
    const bytes = await this.plan.read(path);
    if (bytes !== null) this.#list.push({ kind: "file", path, hash: contentHash(bytes) });
  }

  #forget(matches: (one: Addition) => boolean): void {
    this.#list.splice(0, this.#list.length, ...this.#list.filter((one) => !matches(one)));
  }
}

export function contentHash(bytes: Uint8Array): string {
  return `sha256:${createHash("sha256").update(bytes).digest("hex")}`;
}

function startsWith(path: readonly string[], start: readonly string[]): boolean {
  return start.every((segment, index) => path[index] === segment);
}
