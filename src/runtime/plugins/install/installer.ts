/**
 * Installs, updates and uninstalls plugins of one project. Each is one transaction: it is prepared beside the project,
 * agreed to by a person, and then in place whole, or nothing has changed.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { AegisError } from "../../../contract/errors.ts";
import { exists } from "../../../lib/files.ts";
import { treeHash } from "../../../lib/safe-tree.ts";
import { pluginNameProblem } from "../manifest.ts";
import { FilePlan } from "./file-plan.ts";
import { additionName, entryOf, formatLock, type Lock, type LockEntry, lockFile, parseLock } from "./lockfile.ts";
import { Additions } from "./project-config.ts";
import { listOffers, type Offer, pickOffer, type Search } from "./registries.ts";
import { findScript } from "./script.ts";
import { parseSource, type Source } from "./sources.ts";
import { dependentsWithout, installedVersions, type Staged, stage } from "./staging.ts";
import { tellInstall, tellUpdate } from "./tell.ts";
import { type InstallerOptions, pluginsFolder, type Transaction, Transactions } from "./transaction.ts";
import { changeLines, compareFiles, fileHashes, isUnchanged, type TreeChanges } from "./tree-changes.ts";
import { type Uninstalled, type UninstallOptions, uninstall } from "./uninstall.ts";

export type Installed = {
  name: string;
  version: string;
  source: string;
  commit: string | null;
  tree: string;
  /** What was added to the project's files, as people name it. */
  added: string[];
};
export type Updated = Installed & { previous: string; changed: boolean };

export class Installer {
  readonly #options: InstallerOptions;
  readonly #transactions: Transactions;

  constructor(options: InstallerOptions) {
    this.#options = options;
    this.#transactions = new Transactions(options);
  }

  /** Ends what a killed command left, as every command does first. Gives what was done, in words. */
  recover(): Promise<string[]> {
    return this.#transactions.recover();
  }

  async install(name: string, options: { from: string | undefined; force: boolean }): Promise<Installed> {
    const problem = pluginNameProblem(name);
    if (problem !== null) throw new AegisError("invalid", `a plugin's name: ${problem}`, sourceHint(name));
    return this.#transactions.run(async (transaction) => {
      const { lock } = transaction;
      const target = join(pluginsFolder, name);
      if (!options.force && (await exists(join(this.#options.root, target))))
        throw new AegisError("conflict", `${target} is there already`, {
          hint: lock[name] === undefined ? "replace it with --force" : `use: aegis plugin update ${name}, or --force`,
        });
      await this.#requirePluginDir(transaction);
      const { source, registry } = await this.#resolve(name, options.from, transaction);
      const staged = await this.#stage(name, source, transaction);
      await tellInstall({ name, staged, source, person: this.#options.person });
      await this.#transactions.agree(`Install ${name} ${staged.manifest.version}?`);
      return this.#put(transaction, { name, action: "install", staged, source, registry, before: lock[name] ?? null });
    });
  }

  /** Follows the source that is on record. `changed` is false when there is nothing new. */
  async update(name: string, options: { force: boolean }): Promise<Updated> {
    return this.#transactions.run(async (transaction) => {
      const entry = entryOf(transaction.lock, name);
      const dir = join(this.#options.root, pluginsFolder, name);
      const edits = await this.#editsOf(name, entry);
      if (!isUnchanged(edits) && !options.force)
        throw new AegisError(
          "conflict",
          [`${name} was edited here:`, ...changeLines(edits).map((line) => `  ${line}`)].join("\n"),
          { hint: `keep your changes elsewhere, then: aegis plugin update ${name} --force`, details: edits },
        );
      const source = parseSource(entry.source, this.#options.githubUrl);
      const staged = await this.#stage(name, source, transaction);
      const { version, commit, tree, registry } = entry;
      if (isUnchanged(edits) && (await treeHash(staged.dir)) === tree)
        return { name, version, previous: version, source: entry.source, commit, tree, added: [], changed: false };
      await tellUpdate({ name, staged, source, person: this.#options.person }, { dir, entry }, this.#options);
      await this.#transactions.agree(`Update ${name} to ${staged.manifest.version}?`);
      const put = { name, action: "update" as const, staged, source, registry, before: entry };
      return { ...(await this.#put(transaction, put)), previous: version, changed: true };
    });
  }

  async uninstall(name: string, options: UninstallOptions): Promise<Uninstalled> {
    return uninstall(this.#transactions, this.#options, name, options);
  }

  /** What was installed, by name. */
  async installed(): Promise<Lock> {
    return parseLock(await new FilePlan(this.#options.root).read(lockFile));
  }

  /** What was edited in an installed plugin since it was put in place. */
  async edits(name: string): Promise<TreeChanges> {
    return this.#editsOf(name, entryOf(await this.installed(), name));
  }

  /** What the registries offer whose name or description holds the text. */
  async search(text: string): Promise<Search> {
    // Not a workspace: those belong to whoever installs, who clears away what others left in there.
    const scratch = await mkdtemp(join(tmpdir(), "aegis-search-"));
    try {
      const { offers, problems } = await this.#offers(scratch, new FilePlan(this.#options.root));
      const wanted = text.toLowerCase();
      const matches = ({ name, description }: Offer) => `${name}\n${description}`.toLowerCase().includes(wanted);
      return { offers: offers.filter(matches), problems };
    } finally {
      await rm(scratch, { recursive: true, force: true });
    }
  }

  async #resolve(
    name: string,
    from: string | undefined,
    { workspace, plan }: Transaction,
  ): Promise<{ source: Source; registry: string | null }> {
    const { githubUrl } = this.#options;
    if (from !== undefined) return { source: parseSource(from, githubUrl), registry: null };
    const offer = pickOffer(name, await this.#offers(workspace.dir, plan));
    return { source: parseSource(offer.source, githubUrl), registry: offer.registry };
  }

  async #offers(scratch: string, plan: FilePlan): Promise<Search> {
    const listed = await this.#options.config.read(plan, ["plugin_registries"]);
    const registries = Array.isArray(listed) ? listed.map(String) : [];
    return listOffers({ ...this.#options, registries, scratch });
  }

  /** A plugin put where nobody looks for it would never run. */
  async #requirePluginDir({ plan }: Transaction): Promise<void> {
    const listed = await this.#options.config.read(plan, ["plugin_dirs"]);
    if (!Array.isArray(listed) || listed.some((folder) => join(String(folder), ".") === pluginsFolder)) return;
    throw new AegisError("invalid", `plugin_dirs does not name ${pluginsFolder}, where plugins are installed`, {
      hint: `add it with: aegis config plugin-dir add ${pluginsFolder}`,
    });
  }

  async #stage(name: string, source: Source, { workspace }: Transaction): Promise<Staged> {
    const { root, aegisVersion } = this.#options;
    await this.#transactions.at("stage");
    const others = await installedVersions(join(root, pluginsFolder));
    others.delete(name);
    const staged = await stage({ name, source, workspace, deps: this.#options, aegisVersion, others });
    const { version } = staged.manifest;
    for (const one of await dependentsWithout(join(root, pluginsFolder), name, version))
      this.#options.person.warn(`${one}, and would not run with ${version}`);
    await this.#transactions.at("staged");
    return staged;
  }

  async #put(
    transaction: Transaction,
    put: {
      name: string;
      action: "install" | "update";
      staged: Staged;
      source: Source;
      registry: string | null;
      before: LockEntry | null;
    },
  ): Promise<Installed> {
    const { name, action, staged, source, registry, before } = put;
    const { plan, lock } = transaction;
    const { manifest, commit, dir, slot } = staged;
    const additions = new Additions(plan, this.#options.config, before?.added);
    await additions.defaults(["plugins", name], manifest.default_config);
    await this.#transactions.at("defaults");
    const script = await findScript(dir, "install");
    const previous = before?.version ?? null;
    if (script !== null)
      await this.#transactions.script(transaction, script, { name, action, dir, previous, manifest, additions });
    await this.#transactions.at("script");
    const now = new Date(this.#options.clock.now()).toISOString();
    const entry: LockEntry = {
      version: manifest.version,
      source: source.text,
      registry,
      commit,
      installed_at: before?.installed_at ?? now,
      updated_at: now,
      tree: await treeHash(dir),
      files: await fileHashes(dir),
      added: additions.list,
    };
    await plan.write(lockFile, formatLock({ ...lock, [name]: entry }));
    const swaps = [{ target: join(pluginsFolder, name), prepared: slot }];
    await this.#transactions.commit(transaction, { plugin: name, action, trust: entry.tree }, swaps);
    const { version, tree } = entry;
    const added = entry.added.slice(before?.added.length ?? 0).map(additionName);
    return { name, version, source: source.text, commit, tree, added };
  }

  async #editsOf(name: string, entry: LockEntry): Promise<TreeChanges> {
    const dir = join(this.#options.root, pluginsFolder, name);
    return compareFiles(entry.files, (await exists(dir)) ? await fileHashes(dir) : {});
  }
}

/** A path or an address where the name belongs. */
function sourceHint(name: string): { hint?: string } {
  if (!/[/:]/.test(name)) return {};
  return { hint: `a source follows the name: aegis plugin install <name> --from ${name}` };
}
