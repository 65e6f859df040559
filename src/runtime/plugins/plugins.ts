/**
 * The plugins of a project: found, loaded, kept running, replaced when they change. A new generation is built beside the
 * running one and takes its place in one step; one that cannot be built leaves the running one as it is.
 */

import type { Agent } from "../../contract/agent.ts";
import { AegisError } from "../../contract/errors.ts";
import type { PluginDetail, PluginDiagnostic, PluginView } from "../../contract/plugin.ts";
import { errorText } from "../../lib/log.ts";
import { didYouMean } from "../../lib/nearest.ts";
import { detailOf, type Entry, viewOf } from "./entry.ts";
import { findPlugins } from "./find.ts";
import { type Generation, pluginPlaces } from "./generation.ts";
import type { Death } from "./host/errors.ts";
import { pluginLogFile } from "./log.ts";
import { planPlugins } from "./plan.ts";
import { faultOf, type Loaded, type LoaderOptions, prepare } from "./prepare.ts";
import { FolderWatch } from "./watch.ts";

/** What happened to a plugin, for the record. */
export type PluginNews =
  | { type: "plugin.loaded" | "plugin.reloaded"; plugin: string; version: string; generation: number }
  | { type: "plugin.failed"; plugin: string; reason: string; running: boolean }
  | { type: "plugin.restarting"; plugin: string; reason: string }
  | { type: "plugin.restored" | "plugin.removed"; plugin: string };

export type PluginsOptions = LoaderOptions & {
  /** Absolute, in the order they count. */
  dirs: () => readonly string[];
  settings: () => { enabled: boolean; deny: readonly string[] };
  version: string;
  /** Must not throw. */
  record: (news: PluginNews) => void;
};

/** Workers that are started at the same time. */
const startedAtOnce = 4;

export class Plugins {
  readonly #options: PluginsOptions;
  readonly #watch: FolderWatch;
  /** By place: two may claim one name. */
  #entries = new Map<string, Entry>();
  readonly #retiring = new Set<Generation>();
  #order: string[] = [];
  #work: Promise<unknown> = Promise.resolve();
  #closed = false;

  constructor(options: PluginsOptions) {
    this.#options = options;
    this.#watch = new FolderWatch({
      onChange: () => void this.reload().catch(() => {}),
      onError: (error) => options.log.warn("changed plugins may go unseen", { error: errorText(error) }),
    });
  }

  list(): PluginView[] {
    return this.#inOrder().map(viewOf);
  }

  /** Throws `not_found` with the nearest name. */
  get(name: string): PluginDetail {
    const entry = this.#find(name);
    const places = pluginPlaces(this.#options.stateDir);
    return detailOf(entry, {
      data_dir: places.data(entry.found.name),
      log_file: pluginLogFile(places.logs, entry.found.name),
    });
  }

  /** Takes over what has changed; the one that is named is loaded anew in any case. Never rejects for a bad plugin. */
  reload(name: string | null = null): Promise<PluginView[]> {
    if (name !== null) this.#find(name);
    const done = this.#work.then(() => this.#reload(name));
    this.#work = done.catch((error: unknown) =>
      this.#options.log.error("plugins could not be loaded", { error: errorText(error) }),
    );
    return done.then(() => this.list());
  }

  /** Why the agent must not run, or null: a critical plugin that it needs is not there. */
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
    this.#closed = true;
    this.#watch.close();
    await this.#work;
    const left = [...this.#retiring, ...[...this.#entries.values()].map((entry) => entry.generation)];
    await Promise.all(left.map((generation) => generation?.close()));
    this.#options.stripper.close();
    await this.#options.logs.flush();
  }

  async #reload(forced: string | null): Promise<void> {
    if (this.#closed) return;
    const { dirs, settings, version } = this.#options;
    const planned = planPlugins(await findPlugins(dirs()), { ...settings(), version });
    const folders: string[] = [...dirs()];
    const ready: Loaded[] = [];
    const waiting = planned.map((one, order) => async () => {
      const before = this.#entries.get(one.found.place) ?? null;
      const force = forced === one.found.name;
      ready[order] = await prepare(one, before, { order, force }, this.#options, this.#watcher());
      folders.push(...ready[order].folders);
    });
    await inParallel(waiting, startedAtOnce);
    if (this.#closed) {
      await Promise.all(ready.map((one) => one.generation?.close()));
      return;
    }
    const places = new Set(planned.map((one) => one.found.place));
    for (const [place, entry] of this.#entries) if (!places.has(place)) this.#remove(place, entry);
    this.#order = planned.map((one) => one.found.place);
    for (const [order, loaded] of ready.entries()) this.#takeOver(loaded, order);
    this.#watch.follow(folders);
  }

  #takeOver(loaded: Loaded, order: number): void {
    const { found } = loaded;
    const before = this.#entries.get(found.place) ?? null;
    if (loaded.kind === "unchanged") {
      if (before !== null) this.#entries.set(found.place, { ...before, found });
      before?.generation?.moveTo(order, this.#options.registries);
      return;
    }
    const missing = loaded.kind === "loaded" ? this.#missing(loaded) : null;
    if (loaded.kind !== "loaded") this.#refuse(loaded, before, loaded.status, loaded.reason, loaded.diagnostics);
    else if (missing !== null) {
      void loaded.generation.close();
      this.#refuse(loaded, before, "failed", missing, []);
    } else this.#swap(loaded, loaded.generation, before);
  }

  #swap(loaded: Loaded, generation: Generation, before: Entry | null): void {
    const { registries, record } = this.#options;
    const { found, key } = loaded;
    const old = before?.generation ?? null;
    old?.unregister();
    try {
      generation.register(registries);
    } catch (error) {
      void generation.close();
      old?.register(registries);
      const { reason, diagnostics } = faultOf(error);
      this.#refuse(loaded, before, "failed", reason, diagnostics);
      return;
    }
    const loads = (before?.loads ?? 0) + 1;
    this.#entries.set(found.place, {
      found,
      status: "loaded",
      reason: null,
      generation,
      loads,
      key,
      diagnostics: generation.diagnostics,
    });
    this.#letGo(old, "its plugin was reloaded");
    if (old !== null) this.#retire(old);
    const type = old === null ? "plugin.loaded" : "plugin.reloaded";
    record({ type, plugin: found.name, version: found.manifest?.version ?? "", generation: loads });
  }

  /** What ran before goes on when only its successor failed; what may not run any more is ended. */
  #refuse(
    { found, key }: Loaded,
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
      const told = `the changed version could not be loaded, the one before goes on: ${reason}`;
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

  /** Its runs go on with the workflow that is registered now, or wait for one. */
  #letGo(generation: Generation | null, reason: string): void {
    for (const run of generation?.runs ?? []) this.#options.restartRun(run, reason);
  }

  /** Lets the calls under way end; when everything ends, it ends too. */
  #retire(generation: Generation): void {
    this.#retiring.add(generation);
    generation
      .retire()
      .catch((error: unknown) =>
        this.#options.log.warn("an old plugin could not be ended", { error: errorText(error) }),
      )
      .finally(() => this.#retiring.delete(generation));
  }

  /** A plugin it requires was planned but could not be loaded after all. */
  #missing({ found }: Loaded): string | null {
    for (const name of Object.keys(found.manifest?.requires ?? {})) {
      const other = this.#inOrder().find((entry) => entry.found.name === name);
      if (other?.generation?.isWorking !== true)
        return `it requires the plugin "${name}", which cannot be used: ${other?.reason ?? "it is not loaded"}`;
    }
    return null;
  }

  #watcher() {
    const { registries, record } = this.#options;
    const change = (generation: Generation, changes: Partial<Entry>) => {
      const { place } = generation.options.found;
      const entry = this.#entries.get(place);
      if (entry?.generation !== generation) return false;
      this.#entries.set(place, { ...entry, ...changes });
      return true;
    };
    return {
      onDeath: (generation: Generation, { message }: Death, retryMs: number | null) => {
        const plugin = generation.options.found.name;
        const gone = retryMs === null;
        if (!change(generation, { status: gone ? "failed" : "restarting", reason: message })) return;
        if (gone) {
          generation.fail(registries, message);
          this.#letGo(generation, message);
          record({ type: "plugin.failed", plugin, reason: `it keeps ending: ${message}`, running: false });
        } else record({ type: "plugin.restarting", plugin, reason: message });
      },
      onRestored: (generation: Generation) => {
        if (change(generation, { status: "loaded", reason: null }))
          record({ type: "plugin.restored", plugin: generation.options.found.name });
      },
    };
  }

  #inOrder(): Entry[] {
    return this.#order.flatMap((place) => this.#entries.get(place) ?? []);
  }

  #find(name: string): Entry {
    const entries = this.#inOrder();
    const found = entries.find((entry) => entry.found.name === name);
    if (found) return found;
    const names = entries.map((entry) => entry.found.name);
    throw new AegisError("not_found", `no plugin "${name}"${didYouMean(name, names)}`, {
      hint: names.length === 0 ? "none was found" : `plugins here: ${names.join(", ")}`,
    });
  }
}

async function inParallel(work: readonly (() => Promise<void>)[], most: number): Promise<void> {
  const waiting = [...work];
  const next = async (): Promise<void> => {
    for (let one = waiting.shift(); one !== undefined; one = waiting.shift()) await one();
  };
  await Promise.all(Array.from({ length: most }, next));
}
