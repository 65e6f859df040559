/**
 * The plugins of a project: finds, loads, supervises and reloads them. A new generation is built beside the running one
 * and replaces it in one step; if it cannot be built, the running one stays.
 */

import { unknownName } from "@aegis/agents/unknown-name.ts";
import type { Agent } from "@aegis/contract/agent.ts";
import type { MissingGate, PluginDetail, PluginDiagnostic, PluginView } from "@aegis/contract/plugin.ts";
import { errorText } from "@aegis/lib/log.ts";
import type { Redact } from "@aegis/lib/redact.ts";
import { comingHolder, detailOf, type Entry, holderOf, viewOf } from "./entry.ts";
import { scanPlugins } from "./find.ts";
import { foldersOf } from "./fingerprint.ts";
import type { GateEnforcer, GateHolder } from "./gates/enforcer.ts";
import { type Generation, pluginPlaces } from "./generation.ts";
import { type FailedCall, failureText, HookFailures } from "./hook-failures.ts";
import { type Death, DeclarationsChanged } from "./host/errors.ts";
import { pluginLogFile } from "./log.ts";
import { eagerOnes, planPlugins } from "./plan.ts";
import { faultOf, type LoadedPlugin, type LoaderOptions, prepare } from "./prepare.ts";
import { FolderWatch } from "./watch.ts";

/** What happened to a plugin, for the event log. */
export type PluginNews =
  | { type: "plugin.loaded" | "plugin.reloaded"; plugin: string; version: string; generation: number }
  | { type: "plugin.failed"; plugin: string; reason: string; running: boolean }
  | { type: "plugin.restarting"; plugin: string; reason: string }
  | { type: "plugin.restored" | "plugin.removed"; plugin: string };

export type PluginsOptions = LoaderOptions & {
  /** Absolute paths in order of precedence. */
  dirs: () => readonly string[];
  settings: () => { enabled: boolean; deny: readonly string[] };
  gates: GateEnforcer;
  redact: Redact;
  /** Must not throw. */
  record: (news: PluginNews) => void;
};

/** The number of plugins that are loaded in parallel. */
export const loadedAtOnce = 4;
/** A folder without a plugin may contain thousands of other folders. */
const watchedPerEmptyFolder = 50;

export class Plugins {
  readonly #options: PluginsOptions;
  readonly #watch: FolderWatch;
  /** Keyed by place, because two plugins may claim one name. */
  readonly #entries = new Map<string, Entry>();
  /** Every plugin that was found, by its place. */
  readonly known: ReadonlyMap<string, unknown> = this.#entries;
  readonly #retiring = new Set<Generation>();
  readonly #failures: HookFailures;
  #order: string[] = [];
  #work: Promise<unknown> = Promise.resolve();
  readonly #closing = new AbortController();
  /** The number of plugins whose code is awaited before they are registered. */
  #awaited = 0;

  constructor(options: PluginsOptions) {
    this.#options = options;
    this.#failures = new HookFailures(options.redact);
    this.#watch = new FolderWatch({
      onChange: () => void this.reload().catch(() => {}),
      onError: (error) => options.log.warn("changed plugins may go unnoticed", { error: errorText(error) }),
    });
  }

  list(): PluginView[] {
    return this.#inOrder().map((entry) => viewOf(entry, this.#options.gates.guardOf(entry.found.name)));
  }

  /** The number of plugins that are being loaded. */
  get loading(): number {
    return this.#awaited + this.#inOrder().filter(({ status }) => status === "loading").length;
  }

  /** Resolves when every plugin is loaded or has failed to load. */
  async settled(): Promise<void> {
    await this.#work;
    await Promise.all(this.#inOrder().map(({ generation }) => generation?.settling));
  }

  /** Gates of plugins that are not loaded as recorded. Everything that they guarded is refused. */
  get missingGates(): MissingGate[] {
    return this.#options.gates.missing;
  }

  /** Throws `not_found` with the nearest name. */
  get(name: string): PluginDetail {
    const entry = this.#find(name);
    const places = pluginPlaces(this.#options.stateDir);
    return detailOf(entry, this.#options.gates.guardOf(entry.found.name), {
      data_dir: places.data(entry.found.name),
      log_file: pluginLogFile(places.logs, entry.found.name),
      hook_failures: this.#failures.of(entry.found.name),
    });
  }

  /** Logs and counts a hook failure. */
  hookFailed(call: FailedCall): void {
    this.#options.logs.add(call.plugin, "error", failureText(call, this.#failures.add(call)));
  }

  /** The place of the loaded plugin with a name, or null. */
  placeOf(name: string): string | null {
    const loaded = this.#inOrder().find(({ found, generation }) => found.name === name && generation !== null);
    return loaded?.found.place ?? null;
  }

  /**
   * Applies changes. The named plugin is reloaded in any case. Never rejects because of a bad plugin. Resolves when all
   * parts of plugins are registered; code that declared the same parts before may still be loading.
   */
  reload(name: string | null = null): Promise<PluginView[]> {
    if (name !== null) this.#find(name);
    const done = this.#work.then(() => this.#reload(name));
    this.#work = done.catch((error: unknown) =>
      this.#options.log.error("plugins could not be loaded", { error: errorText(error) }),
    );
    return done.then(() => this.list());
  }

  /** The reason why the agent must not run, or null: a critical plugin that it needs is missing. */
  refusal(agent: Pick<Agent, "plugin">): string | null {
    for (const { found, status, reason, generation } of this.#entries.values()) {
      if (found.manifest?.critical !== true || generation?.isWorking === true || status === "disabled") continue;
      const hooks = generation === null ? found.modules.length : generation.part.contributions.hooks.length;
      if (agent.plugin === found.name || hooks > 0)
        return `the plugin "${found.name}", which is critical, is not running: ${reason ?? status}`;
    }
    return null;
  }

  async close(): Promise<void> {
    this.#closing.abort();
    this.#watch.close();
    await this.#work;
    const left = [...this.#retiring, ...[...this.#entries.values()].map((entry) => entry.generation)];
    await Promise.all(left.map((generation) => generation?.close()));
    this.#options.stripper.close();
    await this.#options.logs.flush();
  }

  async #reload(forced: string | null): Promise<void> {
    if (this.#isClosed) return;
    const { dirs, settings, version, gates } = this.#options;
    const { found, empty } = await scanPlugins(dirs());
    const planned = planPlugins(found, { ...settings(), version });
    const eager = eagerOnes(planned);
    const folders: string[] = [...dirs()];
    const ready: LoadedPlugin[] = [];
    const waiting = planned.map((one, order) => async () => {
      const before = this.#entries.get(one.found.place) ?? null;
      // A running generation is replaced only by one that is known to work.
      const how = { order, force: forced === one.found.name, eager: before !== null || eager.has(one.found.name) };
      ready[order] = await prepare(one, before, how, this.#options, this.#watcher());
      folders.push(...ready[order].folders);
      this.#awaited -= 1;
    });
    this.#awaited = planned.length;
    await inParallel(waiting, loadedAtOnce).finally(() => {
      this.#awaited = 0;
    });
    // After the plugins' own folders, which are more important if there are too many to watch.
    for (const folder of empty) folders.push(...(await foldersOf(folder, watchedPerEmptyFolder)));
    await gates.review(ready.map((one) => comingHolder(one, this.#entries.get(one.found.place))));
    if (this.#isClosed) {
      await Promise.all(ready.map((one) => one.generation?.close()));
      return;
    }
    const places = new Set(planned.map((one) => one.found.place));
    for (const [place, entry] of this.#entries) if (!places.has(place)) this.#remove(place, entry);
    this.#order = planned.map((one) => one.found.place);
    for (const [order, loaded] of ready.entries()) this.#takeOver(loaded, order);
    // In the same step: no call may find a gate missing before its refusal is in place.
    gates.settle(this.#holders());
    await gates.keep(this.#holders());
    gates.settle(this.#holders());
    this.#watch.follow(folders);
  }

  #takeOver(loaded: LoadedPlugin, order: number): void {
    const { found } = loaded;
    const before = this.#entries.get(found.place) ?? null;
    if (loaded.kind === "unchanged") {
      if (before !== null) this.#entries.set(found.place, { ...before, found });
      before?.generation?.moveTo(order, this.#options.tables);
      return;
    }
    const missing = loaded.kind === "loaded" ? this.#missing(loaded) : null;
    if (loaded.kind !== "loaded") this.#refuse(loaded, before, loaded.status, loaded.reason, loaded.diagnostics);
    else if (missing !== null) {
      void loaded.generation.close();
      this.#refuse(loaded, before, "failed", missing, []);
    } else this.#swap(loaded, loaded.generation, before);
  }

  #swap(loaded: LoadedPlugin, generation: Generation, before: Entry | null): void {
    const { tables, record } = this.#options;
    const { found, key } = loaded;
    const old = before?.generation ?? null;
    old?.unregister();
    try {
      generation.register(tables);
    } catch (error) {
      void generation.close();
      old?.register(tables);
      const { reason, diagnostics } = faultOf(error);
      this.#refuse(loaded, before, "failed", reason, diagnostics);
      return;
    }
    const loads = (before?.loads ?? 0) + 1;
    const inBackground = generation.options.background !== null;
    this.#entries.set(found.place, {
      found,
      status: inBackground ? "loading" : "loaded",
      reason: null,
      generation,
      loads,
      key,
      diagnostics: generation.diagnostics,
    });
    this.#letGo(old, "its plugin was reloaded");
    if (old !== null) this.#retire(old);
    const type = old === null ? "plugin.loaded" : "plugin.reloaded";
    const news = { type, plugin: found.name, version: found.manifest?.version ?? "", generation: loads } as const;
    if (!inBackground) record(news);
    else generation.whenLoaded((error) => this.#settle(generation, news, error));
  }

  /** Applies the result of loading a plugin's code in the background. */
  async #settle(generation: Generation, news: PluginNews, error: unknown): Promise<void> {
    const { found } = generation.options;
    const entry = this.#entries.get(found.place);
    if (this.#isClosed || entry?.generation !== generation) return;
    if (error === null) {
      this.#entries.set(found.place, { ...entry, status: "loaded" });
      this.#options.record(news);
      return;
    }
    if (error instanceof DeclarationsChanged) {
      await this.reload(found.name).catch(() => {});
      return;
    }
    const { reason, diagnostics } = faultOf(error);
    this.#options.logs.add(found.name, "error", `could not be loaded: ${reason}`);
    generation.fail();
    this.#letGo(generation, `its plugin could not be loaded: ${reason}`);
    this.#entries.set(found.place, { ...entry, status: "failed", reason, generation: null, loads: 0, diagnostics });
    // In the same step: no call may find a gate missing before its refusal is in place.
    this.#options.gates.settle(this.#holders());
    this.#options.record({ type: "plugin.failed", plugin: found.name, reason, running: false });
  }

  /** The running generation stays if only its successor failed; one that may no longer run is ended. */
  #refuse(
    { found, key }: LoadedPlugin,
    before: Entry | null,
    status: Entry["status"],
    reason: string,
    diagnostics: readonly PluginDiagnostic[],
  ): void {
    const { record } = this.#options;
    const old = before?.generation ?? null;
    const loads = before?.loads ?? 0;
    const keeps = status === "failed" && old?.isWorking === true;
    if (keeps) {
      const told = `the changed version could not be loaded; the previous one stays active: ${reason}`;
      this.#entries.set(found.place, {
        ...before,
        found: before?.found ?? found,
        status: "loaded",
        reason: told,
        generation: old,
        loads,
        key,
        diagnostics,
      });
    } else {
      old?.unregister();
      this.#letGo(old, `its plugin may not run: ${reason}`);
      void old?.close();
      this.#entries.set(found.place, { found, status, reason, generation: null, loads, key, diagnostics });
    }
    if (status === "failed") record({ type: "plugin.failed", plugin: found.name, reason, running: keeps });
    else if (old !== null) record({ type: "plugin.removed", plugin: found.name });
  }

  #remove(place: string, { generation, found }: Entry): void {
    this.#entries.delete(place);
    generation?.unregister();
    this.#letGo(generation, "its plugin is gone");
    if (generation !== null) this.#retire(generation);
    if (generation !== null) this.#options.record({ type: "plugin.removed", plugin: found.name });
  }

  /** Its runs continue with the workflow that is registered now, or wait for one. */
  #letGo(generation: Generation | null, reason: string): void {
    for (const run of generation?.runs ?? []) this.#options.restartRun(run, reason);
  }

  /** Lets the running calls end; a shutdown ends them. */
  #retire(generation: Generation): void {
    this.#retiring.add(generation);
    generation
      .retire()
      .catch((error: unknown) =>
        this.#options.log.warn("an old plugin could not be stopped", { error: errorText(error) }),
      )
      .finally(() => this.#retiring.delete(generation));
  }

  /** A required plugin was planned but could not be loaded. */
  #missing({ found }: LoadedPlugin): string | null {
    for (const name of Object.keys(found.manifest?.requires ?? {})) {
      const other = this.#inOrder().find((entry) => entry.found.name === name);
      if (other?.generation?.isWorking !== true)
        return `it requires the plugin "${name}", which cannot be used: ${other?.reason ?? "it is not loaded"}`;
    }
    return null;
  }

  #watcher() {
    const { record } = this.#options;
    const change = (generation: Generation, changes: Partial<Entry>) => {
      const { place } = generation.options.found;
      const entry = this.#entries.get(place);
      if (entry?.generation !== generation) return false;
      this.#entries.set(place, { ...entry, ...changes });
      return true;
    };
    return {
      signal: this.#closing.signal,
      onDeath: (generation: Generation, { message }: Death, retryMs: number | null) => {
        const plugin = generation.options.found.name;
        const gone = retryMs === null;
        if (!change(generation, { status: gone ? "failed" : "restarting", reason: message })) return;
        if (gone) {
          generation.fail();
          this.#options.gates.settle(this.#holders());
          this.#letGo(generation, message);
          record({ type: "plugin.failed", plugin, reason: `it keeps stopping: ${message}`, running: false });
        } else record({ type: "plugin.restarting", plugin, reason: message });
      },
      onRestored: (generation: Generation) => {
        if (change(generation, { status: "loaded", reason: null }))
          record({ type: "plugin.restored", plugin: generation.options.found.name });
      },
    };
  }

  get #isClosed(): boolean {
    return this.#closing.signal.aborted;
  }

  #holders(): GateHolder[] {
    return this.#inOrder().map(holderOf);
  }

  #inOrder(): Entry[] {
    return this.#order.flatMap((place) => this.#entries.get(place) ?? []);
  }

  #find(name: string): Entry {
    const entries = this.#inOrder();
    const found = entries.find((entry) => entry.found.name === name);
    if (found) return found;
    const names = entries.map((entry) => entry.found.name);
    throw unknownName("plugin", name, names, "this project has no plugins");
  }
}

/** Runs all functions with at most `most` in parallel. Rejects with the first failure. */
async function inParallel(work: readonly (() => Promise<void>)[], most: number): Promise<void> {
  const waiting = [...work];
  const next = async (): Promise<void> => {
    for (let one = waiting.shift(); one !== undefined; one = waiting.shift()) await one();
  };
  await Promise.all(Array.from({ length: most }, next));
}
