/** The hooks of plugins in the order in which they run. */
import { type HookCallResult, type HookDeclaration, type HookEvent, hookKinds } from "@aegis/contract/hook.ts";

/** Consecutive hooks of one plugin for one event. They run in its worker in one round trip. */
export type HookBatch = {
  event: HookEvent;
  hooks: readonly { name: string; timeoutMs: number; strict: boolean }[];
  /** The context of the first hook; each later hook sees the changes of the earlier ones. */
  context: unknown;
};

/**
 * Runs a batch in the plugin's worker and reports each call. A hook that blocks, denies or, if strict, fails ends the
 * round. Rejects only if the plugin cannot answer.
 */
export type HookRunner = (batch: HookBatch, signal: AbortSignal) => Promise<HookCallResult[]>;

/** The hooks of a plugin. `order` is its position among the plugins: by folder, then by plugin. */
export type PluginHooks = {
  plugin: string;
  order: number;
  hooks: readonly HookDeclaration[];
  run: HookRunner;
  /** Resolves when the plugin's code can be called or has failed to load; null if it is not being loaded. */
  loading?: () => Promise<void> | null;
};

export type PlacedHook = { plugin: string; declaration: HookDeclaration; run: HookRunner };

export class HookTable {
  readonly #plugins = new Set<PluginHooks>();
  readonly #listeners = new Set<(plugin: string) => void>();
  #onUse: () => void = () => {};
  readonly #events = new Set<HookEvent>();
  #placed: Map<HookEvent, PlacedHook[]> | null = null;

  /** The events that have hooks at the moment. Check it before building a context: most events have none. */
  readonly events: ReadonlySet<HookEvent> = this.#events;

  /** Returns a function that removes the hooks. */
  add(hooks: PluginHooks): () => void {
    const wasEmpty = this.#events.size === 0;
    this.#plugins.add(hooks);
    this.#changed();
    if (wasEmpty) this.#onUse();
    const observes = hooks.hooks.some(({ event }) => hookKinds[event] === "observer");
    for (const listener of observes ? this.#listeners : []) listener(hooks.plugin);
    return () => {
      if (this.#plugins.delete(hooks)) this.#changed();
    };
  }

  /** Calls back when the table is empty and gets hooks. */
  onUse(listener: () => void): void {
    this.#onUse = listener;
  }

  /** Calls back with the name of each plugin that adds observers. Returns a function that removes the listener. */
  onAdded(listener: (plugin: string) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /**
   * Resolves when the code behind every hook of the event, or behind those of one plugin, is loaded or has failed to
   * load; null if none is being loaded. The hooks may be others afterwards.
   */
  loading(event: HookEvent, plugin: string | null = null): Promise<unknown> | null {
    const waits = [...this.#plugins].flatMap((one) => {
      if ((plugin !== null && one.plugin !== plugin) || !one.hooks.some((hook) => hook.event === event)) return [];
      return one.loading?.() ?? [];
    });
    return waits.length === 0 ? null : Promise.all(waits);
  }

  /** Whether a hook offers skills to agents. */
  get offersSkills(): boolean {
    return this.of("pre_turn").some((hook) => hook.declaration.offersSkills === true);
  }

  /** Sorted by priority, then by plugin order, then by definition order. */
  of(event: HookEvent): readonly PlacedHook[] {
    this.#placed ??= this.#place();
    return this.#placed.get(event) ?? [];
  }

  #changed(): void {
    this.#placed = null;
    this.#events.clear();
    for (const { hooks } of this.#plugins) for (const { event } of hooks) this.#events.add(event);
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
