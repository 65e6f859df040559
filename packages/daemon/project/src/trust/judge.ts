/**
 * Decides whether the project's files may run code. It is called at each use, not only when settings are loaded, and
 * returns a proof that the starters of processes and workers require. It judges what is actually used: the settings in
 * memory and the current files on disk.
 */
import { readFile, realpath } from "node:fs/promises";
import { relative } from "node:path";
import type { Agent, AgentProfile } from "@aegis/contract/agent.ts";
import { AegisError } from "@aegis/contract/errors.ts";
import { factsOf } from "@aegis/drivers/all.ts";
import { Consent } from "@aegis/lib/consent.ts";
import type { PluginPlace, Trust, TrustItem, TrustVerdict } from "@aegis/plugins/trust/trust.ts";
import type { CommandFile } from "@aegis/skills/commands/files.ts";
import type { Config } from "../config/config.ts";
import { agentItem } from "./agent-item.ts";
import { bytesHash, Contents } from "./contents.ts";
import { harnessItems, readsProjectFiles } from "./harness-files.ts";
import { commandItem, modelItem, scheduleItem } from "./items.ts";
import { settingItems } from "./setting-items.ts";
import { providersOf, refusalText } from "./trusted-settings.ts";
import { waysOutOfWorktree, worktreeRefusal } from "./worktree-refusal.ts";

export type JudgeOptions = {
  /** The project's real path. */
  root: string;
  trust: Trust;
  contents: Contents;
  /** The current configuration. */
  config: () => Config;
  /** The agent as its file describes it, and the default agent if it inherits from it. */
  madeFrom: (agent: Agent) => readonly AgentProfile[];
  /** The folder of a loaded plugin; null if none has the name. */
  pluginFolder: (plugin: string) => string | null;
};

/** Tells a person how to review and trust it. */
const wayToAgree = "see what it is, and agree to it, with: aegis trust";

export class ConsentCheck {
  readonly #options: JudgeOptions;

  constructor(options: JudgeOptions) {
    this.#options = options;
  }

  /** Throws `forbidden` if the plugin is not loaded. */
  loadedPlugin(name: string): PluginPlace {
    const dir = this.#options.pluginFolder(name);
    if (dir === null) throw new AegisError("forbidden", `the plugin "${name}" is not loaded`);
    return { name, dir };
  }

  /**
   * Required for every process that a session's agent starts. Throws `forbidden` with what changed and how to trust it.
   */
  async session(agent: Agent, folder: string | null = null): Promise<Consent> {
    const what = `agent "${agent.slug}" is not started`;
    await this.#require(await this.#itemsOf(agent, this.#options.contents), what);
    // In a worktree the harness reads the settings files of the worktree, and relative paths name its files. They must
    // be the trusted ones.
    if (folder !== null && folder !== this.#options.root) {
      const found = await harnessItems(folder, this.#options.contents, agent.harness);
      const own = await this.#ownItems(agent, this.#options.contents, folder);
      await this.#requireIn(folder, [...own, ...found.map(({ item }) => item)], `${what} in ${folder}`);
    }
    return Consent.grant(`agent ${agent.slug}`);
  }

  /**
   * Whether the agent needs no trust, for any content of the project: neither its profile nor its harness
   * names anything that could run. Other settings give it another profile.
   */
  async isInert(agent: Agent): Promise<boolean> {
    if (factsOf(agent.harness)?.callsModel === true || readsProjectFiles(agent.harness)) return false;
    return (await this.#ownItems(agent, this.#options.contents, null)).length === 0;
  }

  /** For each command of a setting, such as `worktrees.setup`. Refuses a setting that is absent or not known. */
  async commands(setting: string): Promise<Consent> {
    const set = this.#settings().filter(({ item }) => item.name === setting);
    if (set.length === 0)
      throw new AegisError("forbidden", `the configuration has no "${setting}", so the command does not run`);
    await this.#require(
      set.map(({ item }) => item),
      "the command does not run",
    );
    return Consent.grant(setting);
  }

  /** The content of a file that the agent's options name: the same bytes that were judged. */
  async agreedFile(agent: Agent, path: string, folder: string | null = null): Promise<Uint8Array> {
    const real = await realpath(path);
    const bytes = await readFile(real);
    const read = new Contents({ given: new Map([[real, bytesHash(bytes)]]) });
    const what = `agent "${agent.slug}" is not started`;
    await this.#require(await this.#itemsOf(agent, folder === null ? read : this.#options.contents), what);
    if (folder !== null)
      await this.#requireIn(folder, await this.#ownItems(agent, read, folder), `${what} in ${folder}`);
    return bytes;
  }

  /** For a request to a model: checks that the provider's address and key are trusted. */
  async model(id: string | null): Promise<Consent> {
    await this.#require(this.#modelItems({ harness: "native", model: id }), "the model is not called");
    return Consent.grant(`model ${id}`);
  }

  /** For a run that starts or resumes, and for each of its shell commands. `plugin` is null for a bundled workflow. */
  async workflow(name: string, plugin: PluginPlace | null): Promise<Consent> {
    const what = `workflow "${name}" does not run`;
    if (plugin !== null) await this.#requirePlugin(plugin, what);
    const set = this.#settings().filter(({ holds }) => holds.kind === "workflow" && holds.name === name);
    await this.#require(
      set.map(({ item }) => item),
      what,
    );
    return Consent.grant(`workflow ${name}`);
  }

  /** For a plugin's worker, and for each program that it starts. */
  async plugin(place: PluginPlace): Promise<Consent> {
    await this.#requirePlugin(place, `plugin "${place.name}" is not run`);
    return Consent.grant(`plugin ${place.name}`);
  }

  /** A plugin may run if its files and its settings in the project are trusted. */
  async pluginVerdict(place: PluginPlace): Promise<TrustVerdict> {
    const verdict = await this.#options.trust.mayRun(place);
    if (!verdict.allowed) return verdict;
    for (const { item, holds } of this.#settings()) {
      if (holds.kind !== "plugin" || holds.name !== place.name) continue;
      const own = await this.#options.trust.judge(item);
      if (!own.allowed) return { ...own, message: refusalText(item, own), fix: wayToAgree };
    }
    return verdict;
  }

  /** The reason why a schedule must not fire now, or null. A schedule outside the configuration needs no trust. */
  async scheduleRefusal(name: string): Promise<string | null> {
    const entry = this.#options.config().schedules[name];
    if (entry === undefined) return null;
    const item = await scheduleItem(this.#options.root, name, entry);
    const verdict = await this.#options.trust.judge(item);
    return verdict.allowed ? null : `${refusalText(item, verdict)}; ${wayToAgree}`;
  }

  /** Judges the same bytes that are used. */
  command(file: CommandFile): Promise<TrustVerdict> {
    return this.#options.trust.judge(commandItem(file));
  }

  async #itemsOf(agent: Agent, contents: Contents): Promise<TrustItem[]> {
    const { root } = this.#options;
    const own = await this.#ownItems(agent, contents, null);
    const harness = await harnessItems(root, this.#options.contents, agent.harness);
    return [...own, ...harness.map(({ item }) => item), ...this.#modelItems(agent)];
  }

  async #ownItems(agent: Agent, contents: Contents, folder: string | null): Promise<TrustItem[]> {
    const { root, madeFrom } = this.#options;
    const own = await Promise.all(madeFrom(agent).map((profile) => agentItem(root, profile, contents, folder)));
    return own.filter((item) => item !== null);
  }

  #modelItems(agent: Pick<Agent, "harness" | "model">): TrustItem[] {
    const { models } = this.#options.config();
    return providersOf(agent, Object.keys(models)).flatMap((name) => {
      const entry = models[name];
      return entry === undefined ? [] : [modelItem(name, entry)];
    });
  }

  #settings() {
    return settingItems(this.#options.root, this.#options.config());
  }

  async #require(items: readonly TrustItem[], what: string): Promise<void> {
    for (const item of items) {
      const verdict = await this.#options.trust.judge(item);
      if (!verdict.allowed)
        throw new AegisError("forbidden", `${what}: ${refusalText(item, verdict)}`, { hint: wayToAgree });
    }
  }

  /** The items as they are in a worktree. Its version may differ from the one of the project that the user trusted. */
  async #requireIn(folder: string, items: readonly TrustItem[], what: string): Promise<void> {
    const worktree = await realpath(folder);
    for (const item of items) {
      const verdict = await this.#options.trust.judge(item, worktree);
      if (verdict.allowed) continue;
      throw new AegisError("forbidden", `${what}: ${worktreeRefusal(item, verdict)}`, {
        hint: waysOutOfWorktree(this.#options.root, worktree, verdict.changes),
      });
    }
  }

  async #requirePlugin(place: PluginPlace, what: string): Promise<void> {
    const verdict = await this.pluginVerdict(place);
    if (verdict.allowed) return;
    const where = relative(this.#options.root, place.dir);
    throw new AegisError("forbidden", `${what}: plugin ${place.name} (${where}): ${verdict.message}`, {
      hint: verdict.fix,
    });
  }
}
