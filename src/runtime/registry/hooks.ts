/** The hooks that plugins have brought, in the order in which they run. */
import type { HookCallResult, HookDeclaration, HookEvent } from "../../contract/hook.ts";

/** Hooks of one plugin for one event that follow each other: they run in its worker in one round trip. */
export type HookBatch = {
  event: HookEvent;
  hooks: readonly { name: string; timeoutMs: number; strict: boolean }[];
  /** What the first of them is given; each later one sees what the earlier ones made. */
  context: unknown;
};

/**
 * Runs a batch where the plugin lives and reports each call that was made. A hook that blocks, denies or, being strict,
 * fails is the last one called. Rejects only when the plugin itself is not there to answer.
 */
export type HookRunner = (batch: HookBatch, signal: AbortSignal) => Promise<HookCallResult[]>;

/** What a plugin adds. `order` is its place among the plugins: its folder's, then its own. */
export type PluginHooks = {
  plugin: string;
  order: number;
  hooks: readonly HookDeclaration[];
  run: HookRunner;
};

export type PlacedHook = { plugin: string; declaration: HookDeclaration; run: HookRunner };

export class HookRegistry {
  readonly #plugins = new Set<PluginHooks>();
  readonly #listeners = new Set<(plugin: string) => void>();
  #placed: Map<HookEvent, PlacedHook[]> | null = null;

  /** Returns its undo. */
  add(hooks: PluginHooks): () => void {
    this.#plugins.add(hooks);
    this.#placed = null;
    for (const listener of this.#listeners) listener(hooks.plugin);
    return () => {
      if (this.#plugins.delete(hooks)) this.#placed = null;
    };
  }

  /** Calls back with the name of each plugin that brings hooks. Returns its undo. */
  onAdded(listener: (plugin: string) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  has(event: HookEvent): boolean {
    return this.of(event).length > 0;
  }

  /** Whether one of them tells agents of the skills there are. */
  get offersSkills(): boolean {
    return this.of("pre_turn").some((hook) => hook.declaration.offersSkills === true);
  }

  /** By priority, then plugins in their order, then hooks as defined. */
  of(event: HookEvent): readonly PlacedHook[] {
    this.#placed ??= this.#place();
    return this.#placed.get(event) ?? [];
  }

  #place(): Map<HookEvent, PlacedHook[]> {
    const byEvent = new Map<HookEvent, PlacedHook[]>();
    for (const { plugin, hooks, run } of [...this.#plugins].sort((a, b) => a.order - b.order)) {
      for (const declaration of hooks) {
        const placed = byEvent.get(declaration.event) ?? [];
        placed.push({ plugin, declaration, run });
        byEvent.set(declaration.event, placed);
      }
    }
    for (const placed of byEvent.values()) placed.sort((a, b) => a.declaration.priority - b.declaration.priority);
    return byEvent;
  }
}
