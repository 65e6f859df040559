/**
 * Installs, updates and uninstalls plugins of one project. Each operation is one transaction: it is prepared beside the
 * project, confirmed by a person, and then applied completely or not at all.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { AegisError } from "@aegis/contract/errors.ts";
import type { PluginDiagnostic, UnsupportedPart } from "@aegis/contract/plugin.ts";
import { exists } from "@aegis/lib/files.ts";
import { placeText } from "@aegis/plugins/host/errors.ts";
import { pluginNameProblem } from "@aegis/plugins/manifest.ts";
import { FilePlan } from "../file-plan.ts";
import type { PreparedPackage } from "../installer.ts";
import { additionName, type LockEntry } from "../lockfile.ts";
import { packageFolder, packagesFolder } from "../place.ts";
import { overriddenIn } from "../refusal.ts";
import type { PackageSource } from "../source.ts";
import { Additions } from "./additions.ts";
import { dependentsWithout, entryOf, lockedSource, type PluginInfo } from "./kind.ts";
import { listRegistryEntries, pickRegistryEntry, type RegistryEntry, type Search } from "./registries.ts";
import { findScript } from "./script.ts";
import { tellInstall, tellUpdate } from "./tell.ts";
import { type PluginInstallerOptions, type Transaction, Transactions } from "./transaction.ts";
import { changeLines, compareFiles, fileHashes, isUnchanged, type TreeChanges } from "./tree-changes.ts";
import { type UninstalledPlugin, type UninstallOptions, uninstall } from "./uninstall.ts";

export type PluginInstallation = {
  name: string;
  version: string;
  source: string;
  commit: string | null;
  tree: string;
  /** Descriptions of what was added to the project's files. */
  added: string[];
  /** Parts that cannot be used. */
  problems: PluginDiagnostic[];
  /** Parts for other programs that have no effect in Aegis. */
  unsupported: UnsupportedPart[];
};
export type UpdatedPlugin = PluginInstallation & { previous: string; changed: boolean };

export class PluginInstaller {
  readonly #options: PluginInstallerOptions;
  readonly #transactions: Transactions;

  constructor(options: PluginInstallerOptions) {
    this.#options = options;
    this.#transactions = new Transactions(options);
  }

  /**
   * Completes or rolls back what a killed command left; every command does this first. Returns descriptions of what was
   * done.
   */
  recover(): Promise<string[]> {
    return this.#transactions.recover();
  }

  async install(name: string, options: { from: string | undefined; force: boolean }): Promise<PluginInstallation> {
    const problem = pluginNameProblem(name);
    if (problem !== null) throw new AegisError("invalid", `a plugin's name: ${problem}`, sourceHint(name));
    return this.#transactions.run(async (transaction) => {
      const before = transaction.installed.get(name) ?? null;
      const target = packageFolder(this.#options.place, "plugin", name);
      if (!options.force && (await exists(this.#dirOf(name))))
        throw new AegisError("conflict", `${target} already exists`, {
          hint: before === null ? "replace it with --force" : `use: aegis plugin update ${name}, or --force`,
        });
      await this.#requirePluginDir(transaction);
      const { source, registry } = await this.#resolve(name, options.from, transaction);
      const staged = await this.#stage(name, source, transaction);
      await tellInstall({ name, staged, person: this.#options.person });
      await this.#transactions.agree(name, `Install ${name} ${staged.about.manifest.version}?`, staged);
      return this.#put(transaction, { name, action: "install", staged, registry, before });
    });
  }

  /** Fetches the recorded source again. `changed` is false if there is nothing new. */
  async update(name: string, options: { force: boolean }): Promise<UpdatedPlugin> {
    return this.#transactions.run(async (transaction) => {
      const entry = entryOf(transaction.installed, name);
      const edits = await this.#editsOf(name, entry);
      if (!isUnchanged(edits) && !options.force)
        throw new AegisError(
          "conflict",
          [`${name} was edited here:`, ...changeLines(edits).map((line) => `  ${line}`)].join("\n"),
          { hint: `keep your changes elsewhere, then: aegis plugin update ${name} --force`, details: edits },
        );
      const staged = await this.#stage(name, this.#parse(entry.source), transaction);
      const { source, commit, registry, hash: tree } = entry;
      const [version, { manifest }] = [entry.version ?? "", staged.about];
      if (isUnchanged(edits) && staged.hash === tree) {
        const { unsupported } = manifest;
        return {
          name,
          version,
          previous: version,
          source,
          commit,
          tree,
          unsupported,
          added: [],
          problems: [],
          changed: false,
        };
      }
      const here = { dir: this.#dirOf(name), entry };
      await tellUpdate({ name, staged, person: this.#options.person }, here, this.#options);
      await this.#transactions.agree(name, `Update ${name} to ${manifest.version}?`, staged);
      const put = { name, action: "update" as const, staged, registry, before: entry };
      return { ...(await this.#put(transaction, put)), previous: version, changed: true };
    });
  }

  async uninstall(name: string, options: UninstallOptions): Promise<UninstalledPlugin> {
    return uninstall(this.#transactions, this.#options, name, options);
  }

  /** The installed plugins by name. */
  installed(): Promise<ReadonlyMap<string, LockEntry>> {
    return this.#transactions.packages.installed(this.#options.place);
  }

  /** The plugins in registries whose name or description contains the text. */
  async search(text: string): Promise<Search> {
    // Not a workspace: the next install clears leftover workspaces.
    const scratch = await mkdtemp(join(tmpdir(), "aegis-search-"));
    try {
      const { entries, problems } = await this.#registryEntries(scratch, new FilePlan(this.#options.place.root));
      const wanted = text.toLowerCase();
      const matches = ({ name, description }: RegistryEntry) =>
        `${name}\n${description}`.toLowerCase().includes(wanted);
      return { entries: entries.filter(matches), problems };
    } finally {
      await rm(scratch, { recursive: true, force: true });
    }
  }

  #dirOf(name: string): string {
    return join(this.#transactions.folder, name);
  }

  #parse(text: string): PackageSource {
    return this.#transactions.packages.kind.parse(text, { ...this.#options, root: this.#options.place.root });
  }

  async #resolve(
    name: string,
    from: string | undefined,
    { workspace, plan }: Transaction,
  ): Promise<{ source: PackageSource; registry: string | null }> {
    if (from !== undefined) return { source: this.#parse(from), registry: null };
    const entry = pickRegistryEntry(name, await this.#registryEntries(workspace.dir, plan));
    return { source: this.#parse(entry.source), registry: entry.registry };
  }

  async #registryEntries(scratch: string, plan: FilePlan): Promise<Search> {
    const listed = await this.#options.config.read(plan, ["plugin_registries"]);
    const registries = Array.isArray(listed) ? listed.map(String) : [];
    const { kind } = this.#transactions.packages;
    return listRegistryEntries({ ...this.#options, root: plan.root, registry: null, kind, registries, scratch });
  }

  /** A plugin outside the configured plugin dirs would never run. */
  async #requirePluginDir({ plan }: Transaction): Promise<void> {
    const listed = await this.#options.config.read(plan, ["plugin_dirs"]);
    const folder = packagesFolder(this.#options.place, "plugin");
    if (!Array.isArray(listed) || listed.some((one) => join(String(one), ".") === folder)) return;
    throw new AegisError("invalid", `plugin_dirs does not name ${folder}, where plugins are installed`, {
      hint: `add it with: aegis config plugin-dir add ${folder}`,
    });
  }

  async #stage(name: string, source: PackageSource, transaction: Transaction): Promise<PreparedPackage<PluginInfo>> {
    const { workspace, installed } = transaction;
    const wanted = { source, name, installed: installed.get(name)?.hash ?? "" };
    const staged = await this.#transactions.packages.prepare(workspace, wanted, this.#options.signal);
    const { version } = staged.about.manifest;
    for (const one of await dependentsWithout(this.#transactions.folder, name, version))
      this.#options.person.warn(`${one}, and would not run with ${version}`);
    return staged;
  }

  async #put(
    transaction: Transaction,
    put: {
      name: string;
      action: "install" | "update";
      staged: PreparedPackage<PluginInfo>;
      registry: string | null;
      before: LockEntry | null;
    },
  ): Promise<PluginInstallation> {
    const { name, action, staged, registry, before } = put;
    const { plan, workspace } = transaction;
    const { commit, dir, source, hash } = staged;
    const { manifest } = staged.about;
    const { config, place, clock } = this.#options;
    const additions = new Additions(plan, config, before?.added);
    await additions.defaults(["plugins", name], manifest.default_config);
    await this.#transactions.at("defaults");
    const script = await findScript(dir, "install");
    const previous = before?.version ?? null;
    if (script !== null)
      await this.#transactions.script(transaction, script, { name, action, dir, previous, manifest, additions });
    await this.#transactions.at("script");
    const { version, unsupported } = manifest;
    const told = staged.about.warnings;
    const problems = await this.#requireLoading({ name, action, version, dir, plan, told });
    const now = new Date(clock.now()).toISOString();
    // The script may have changed the files.
    const tree = script === null ? hash : await this.#transactions.packages.kind.hash(dir);
    const entry: LockEntry = {
      name,
      version,
      registry,
      commit,
      hash: tree,
      source: await lockedSource(source, place.root),
      installed_at: before?.installed_at ?? now,
      updated_at: now,
      files: await fileHashes(dir),
      added: additions.list,
      ...overriddenHere(staged, before),
    };
    await this.#transactions.packages.commit(place, {
      workspace,
      plan,
      folder: name,
      action,
      trust: tree,
      entry: async () => {
        await config.check(plan);
        return entry;
      },
    });
    const added = additions.list.slice(before?.added?.length ?? 0).map(additionName);
    return { name, version, source: source.text, commit, tree, added, problems, unsupported };
  }

  /** Throws `invalid` with everything that prevents the plugin from loading. Returns the problems of its parts. */
  async #requireLoading(about: {
    name: string;
    action: "install" | "update";
    version: string;
    dir: string;
    plan: FilePlan;
    /** What the person saw before. */
    told: readonly PluginDiagnostic[];
  }): Promise<PluginDiagnostic[]> {
    const { name, action, version, told } = about;
    const { failed, diagnostics } = await this.#options.tryLoading(about);
    const serious = diagnostics.filter(({ level }) => level === "error");
    if (!failed) {
      for (const one of diagnostics.filter(({ level }) => level !== "info"))
        if (!told.some(({ message }) => message === one.message)) this.#options.person.warn(diagnosticLine(one));
      return serious;
    }
    const lines = serious.map((one) => `  ${diagnosticLine(one)}`);
    const isSetting = serious.some(({ message }) => message.startsWith(`plugins.${name}.`));
    throw new AegisError(
      "invalid",
      [`${name} ${version} cannot be loaded, so nothing was changed:`, ...lines].join("\n"),
      {
        details: { diagnostics },
        ...(isSetting ? { hint: `set it in .aegis.yaml under plugins.${name} first, then ${action} again` } : {}),
      },
    );
  }

  async #editsOf(name: string, entry: LockEntry): Promise<TreeChanges> {
    const dir = this.#dirOf(name);
    return compareFiles(entry.files ?? {}, (await exists(dir)) ? await fileHashes(dir) : {});
  }
}

/** Files that are installed already were not scanned again. */
function overriddenHere(
  { hash, findings }: PreparedPackage<PluginInfo>,
  before: LockEntry | null,
): Pick<LockEntry, "overridden"> {
  const overridden = before?.hash === hash ? before.overridden : undefined;
  return overridden === undefined ? overriddenIn(findings) : { overridden };
}

function diagnosticLine({ file, line, message }: PluginDiagnostic): string {
  return `${placeText({ file, line })}${message}`;
}

/** A hint for a path or an address given instead of a name. */
function sourceHint(name: string): { hint?: string } {
  if (!/[/:]/.test(name)) return {};
  return { hint: `a source follows the name: aegis plugin install <name> --from ${name}` };
}
