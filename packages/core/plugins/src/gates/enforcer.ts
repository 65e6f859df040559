/**
 * Keeps recorded gates closed while their plugin is not loaded as recorded. A missing gate is replaced by a hook that
 * refuses until a person accepts the current plugin or drops the gate.
 */
import { isDeepStrictEqual } from "node:util";
import { AegisError } from "@aegis/contract/errors.ts";
import { type HookDeclaration, hookEvents } from "@aegis/contract/hook.ts";
import type { MissingGate } from "@aegis/contract/plugin.ts";
import { stopsWhenFailing } from "@aegis/hooks/hook-batch.ts";
import type { HookRunner, HookTable } from "@aegis/hooks/hook-table.ts";
import { errorText, type Logger } from "@aegis/lib/log.ts";
import type { GateRecord, GateRecords, GateStore, HeldHook } from "./store.ts";

/** The state of a plugin that is relevant to its gates. */
export type GateHolder = {
  name: string;
  place: string;
  /** The hooks that its working code registers; null while it is not loaded. */
  hooks: readonly HookDeclaration[] | null;
  /** The reason why it is not loaded. */
  reason: string | null;
};

export type GateNews =
  | { type: "plugin.gates_missing"; plugin: string; hooks: string[]; reason: string }
  | { type: "plugin.gates_held"; plugin: string };

export type GateEnforcerOptions = {
  store: GateStore;
  table: HookTable;
  hash: (holder: Pick<GateHolder, "name" | "place">) => Promise<string>;
  /** Whether the user trusted this content of the plugin, or the plugin regardless of its content. */
  isAgreed: (holder: Pick<GateHolder, "name" | "place">, hash: string) => Promise<boolean>;
  /** Must not throw. */
  record: (news: GateNews) => void;
  log: Logger;
};

type Missing = { hooks: readonly HeldHook[]; reason: string };

/** Runs before every hook that a plugin can register. */
const first = Number.MIN_SAFE_INTEGER;
const refusalMs = 1_000;
/** The owner of refusals when the gates of plugins are unknown. */
const allOfThem = "aegis";

export class GateEnforcer {
  readonly #options: GateEnforcerOptions;
  #records: GateRecords = {};
  /** Plugins whose content is not what was accepted, with the reason. */
  #foreign = new Map<string, string>();
  #problem: string | null = null;
  #missing = new Map<string, Missing>();
  #undo: () => void = () => {};

  constructor(options: GateEnforcerOptions) {
    this.#options = options;
  }

  /** What is refused now, by plugin. */
  get missing(): MissingGate[] {
    return [...this.#missing].map(([plugin, { hooks, reason }]) => ({ plugin, hooks: hooks.map(hookLabel), reason }));
  }

  /** The held hooks of a plugin, or null if it has none. */
  guardOf(plugin: string): { hooks: string[]; missing: string[] } | null {
    const record = this.#records[plugin];
    if (record === undefined) return null;
    return {
      hooks: record.hooks.map(hookLabel),
      missing: (this.#missing.get(plugin)?.hooks ?? []).map(hookLabel),
    };
  }

  /**
   * Checks the plugins that are about to be loaded: a plugin with recorded gates and unaccepted content does not count
   * as loaded. Never rejects; while the record cannot be read, every tool call is refused.
   */
  async review(holders: readonly GateHolder[]): Promise<void> {
    const { store, hash, isAgreed, log } = this.#options;
    const foreign = new Map<string, string>();
    try {
      this.#records = await store.read();
      for (const holder of holders) {
        const known = this.#records[holder.name];
        if (known === undefined || holder.hooks === null || store.placeOf(known) !== holder.place) continue;
        const now = await hash(holder);
        if (known.hash !== now && !(await isAgreed(holder, now)))
          foreign.set(holder.name, "its files changed since its gates were last agreed to");
      }
      this.#problem = null;
    } catch (error) {
      this.#problem = errorText(error);
      log.error("the gates are not known, so tools are refused", { error: this.#problem });
    }
    this.#foreign = foreign;
  }

  /** Records the current gates. Never rejects; while the record cannot be written, every tool call is refused. */
  async keep(holders: readonly GateHolder[]): Promise<void> {
    if (this.#problem !== null) return;
    for (const holder of holders) {
      try {
        if (!this.#foreign.has(holder.name)) await this.#keep(holder);
      } catch (error) {
        this.#problem = `the gates of "${holder.name}" could not be recorded: ${errorText(error)}`;
        this.#options.log.error("gates could not be recorded, so tools are refused", { error: this.#problem });
      }
    }
  }

  /** Replaces missing hooks by refusing hooks in one step. */
  settle(holders: readonly GateHolder[]): void {
    const { table, record } = this.#options;
    const before = this.#missing;
    this.#missing = new Map();
    for (const [plugin, gate] of Object.entries(this.#records)) {
      const missing = this.#missingOf(
        gate,
        holders.find(({ name }) => name === plugin),
      );
      if (missing !== null) this.#missing.set(plugin, missing);
    }
    if (this.#problem !== null) this.#missing.set(allOfThem, { hooks: [everyTool], reason: this.#problem });
    const undo = [...this.#missing].map(([plugin, missing]) => table.add(refusing(plugin, missing)));
    this.#undo();
    this.#undo = () => {
      for (const one of undo) one();
    };
    for (const [plugin, { hooks, reason }] of this.#missing) {
      const names = hooks.map(hookLabel);
      if (before.get(plugin)?.hooks.map(hookLabel).join() !== names.join())
        record({ type: "plugin.gates_missing", plugin, hooks: names, reason });
    }
    for (const plugin of before.keys()) if (!this.#missing.has(plugin)) record({ type: "plugin.gates_held", plugin });
  }

  async #keep(holder: GateHolder): Promise<void> {
    const { store } = this.#options;
    const { name, place } = holder;
    const hooks = heldHooks(holder.hooks ?? []);
    const known = this.#records[name];
    if (holder.hooks === null || (known === undefined && hooks.length === 0)) return;
    if (known !== undefined && store.placeOf(known) !== place) return;
    const hash = await this.#options.hash(holder);
    const kept = (known?.hooks ?? []).filter((hook) => !hooks.some((one) => isSame(one, hook)));
    const all = [...hooks, ...kept];
    if (known?.hash === hash && isDeepStrictEqual(known.hooks, all)) return;
    await store.set(name, { place, hash, hooks: all });
    this.#records = await store.read();
  }

  #missingOf(record: GateRecord, holder: GateHolder | undefined): Missing | null {
    const { hooks } = record;
    if (holder === undefined) return { hooks, reason: "it was removed" };
    if (holder.hooks === null) return { hooks, reason: `it is not loaded: ${holder.reason ?? "unknown"}` };
    const place = this.#options.store.placeOf(record);
    if (place !== holder.place)
      return { hooks, reason: `its gates were agreed to in ${place}, and it is loaded from ${holder.place}` };
    const foreign = this.#foreign.get(holder.name);
    if (foreign !== undefined) return { hooks, reason: foreign };
    const held = heldHooks(holder.hooks);
    const left = hooks.filter((hook) => !held.some((one) => isSame(one, hook)));
    return left.length === 0 ? null : { hooks: left, reason: "it no longer registers them" };
  }
}

/** The hooks whose absence must block: gates, and strict hooks of events that can block. */
export function heldHooks(hooks: readonly { event: string; name: string; strict: boolean }[]): HeldHook[] {
  return hooks.flatMap(({ event, name, strict }) => {
    const known = hookEvents.find((one) => one === event);
    return known !== undefined && stopsWhenFailing(known, strict) ? [{ event: known, name, strict }] : [];
  });
}

export function hookLabel({ event, name }: Pick<HeldHook, "event" | "name">): string {
  return `${event} (${name})`;
}

/** Changing `strict` does not make another gate; `pre_turn` and `pre_spawn` are held only while strict. */
function isSame(a: HeldHook, b: HeldHook): boolean {
  return a.event === b.event && a.name === b.name;
}

const everyTool: HeldHook = { event: "pre_tool_use", name: "gates", strict: true };

function refusing(plugin: string, { hooks, reason }: Missing) {
  const decide =
    plugin === allOfThem
      ? reason
      : `the plugin "${plugin}" guards this and is not loaded as recorded: ${reason}. A person decides: ` +
        `aegis plugin accept ${plugin}, or aegis plugin drop ${plugin}`;
  const run: HookRunner = () => Promise.reject(new AegisError("unavailable", decide));
  const declarations = hooks.map(({ event, name }): HookDeclaration => {
    return { event, name, priority: first, strict: true, timeoutMs: refusalMs };
  });
  return { plugin, order: first, hooks: declarations, run };
}
