/** One change of a project's plugins: exclusive, after recovery of an earlier one, and confirmed by a person. */
import { join } from "node:path";
import { AegisError } from "@aegis/contract/errors.ts";
import type { PluginDiagnostic } from "@aegis/contract/plugin.ts";
import type { SkillFinding } from "@aegis/contract/skill-install.ts";
import type { TreeLimits } from "@aegis/lib/tree-rules.ts";
import type { Trust } from "@aegis/plugins/trust/trust.ts";
import type { FetchDeps } from "../fetch.ts";
import { FilePlan } from "../file-plan.ts";
import { Installer } from "../installer.ts";
import type { Checkpoint, Workspace } from "../journal.ts";
import { type LockEntry, readLock } from "../lockfile.ts";
import { type InstallPlace, packageFolder, packagesFolder } from "../place.ts";
import { maliciousRules, refuseMalicious } from "../refusal.ts";
import type { Additions, ProjectConfig } from "./additions.ts";
import { installedVersions, type PluginInfo, pluginKind } from "./kind.ts";
import { type Person, runScript } from "./script.ts";

/** What a person confirms: the hash of the files, and what the scan found in them. */
export type ConfirmedContent = { hash: string; findings: readonly SkillFinding[] };

export type InstallerPerson = Person & {
  /** Asks whether to continue. `unavailable`: no person can be asked, and nothing was confirmed in advance. */
  agree(question: string, content: ConfirmedContent): Promise<"yes" | "no" | "unavailable">;
  /** Returns those of the rules with malicious findings that the person overrides, after they were shown. */
  override(rules: readonly string[]): Promise<readonly string[]>;
};

/** `failed`: the plugin cannot be loaded. Otherwise an error means that a part would be skipped. */
export type LoadResult = { failed: boolean; diagnostics: readonly PluginDiagnostic[] };

export type PluginInstallerOptions = Omit<FetchDeps, "registry" | "bundledDir"> & {
  place: InstallPlace;
  home: string;
  bundledDir: string;
  signal: AbortSignal;
  aegisVersion: string;
  config: ProjectConfig;
  person: InstallerPerson;
  trust: Trust;
  /** Runs `work` while no other install of plugins of the project runs. */
  alone: <T>(work: () => Promise<T>) => Promise<T>;
  /** Loads a plugin from a workspace as the daemon would load it after the install. */
  tryLoading: (staged: { name: string; dir: string; plan: FilePlan }) => Promise<LoadResult>;
  /** The folder of a plugin's stored data, relative to the root. */
  dataDir: (plugin: string) => string;
  limits?: Partial<TreeLimits>;
  at?: Checkpoint;
  scriptTimeoutMs?: number;
};

export type Transaction = {
  workspace: Workspace;
  plan: FilePlan;
  installed: ReadonlyMap<string, LockEntry>;
};

export type ScriptRun = {
  name: string;
  action: "install" | "update" | "uninstall";
  dir: string;
  previous: string | null;
  /** Delete the plugin's data too. */
  purge?: boolean;
  manifest: Record<string, unknown>;
  additions: Additions;
};

export class Transactions {
  readonly #options: PluginInstallerOptions;
  readonly packages: Installer<PluginInfo>;
  /** The folder of all plugins. */
  readonly folder: string;

  constructor(options: PluginInstallerOptions) {
    this.#options = options;
    const { place, aegisVersion, bundledDir, limits, at, processes, clock, env, githubUrl, network } = options;
    this.folder = join(place.root, packagesFolder(place, "plugin"));
    const kind = pluginKind({ aegisVersion, bundledDir, limits, others: () => installedVersions(this.folder) });
    this.packages = new Installer(
      kind,
      {
        processes,
        clock,
        env,
        githubUrl,
        bundledDir,
        registry: null,
        ...(network === undefined ? {} : { network }),
      },
      at,
    );
  }

  at(step: string): void | Promise<void> {
    return this.packages.at(step);
  }

  /** Completes or rolls back what a killed command left. Returns descriptions of what was done. */
  recover(): Promise<string[]> {
    const { alone, place } = this.#options;
    return alone(() => this.packages.recover(place));
  }

  /** Discards what `work` prepared and did not commit. */
  run<T>(work: (transaction: Transaction) => Promise<T>): Promise<T> {
    const { alone, place, person } = this.#options;
    return alone(async () => {
      const { workspace, recovered } = await this.packages.open(place);
      try {
        for (const line of recovered) person.warn(line);
        const plan = new FilePlan(place.root);
        await this.at("begin");
        return await work({ workspace, plan, installed: (await readLock(plan, place)).plugin });
      } finally {
        await workspace.drop();
      }
    });
  }

  /** Throws `forbidden` unless a person confirms, and overrides each malicious finding by its rule. */
  async agree(name: string, question: string, content: ConfirmedContent): Promise<void> {
    const rules = maliciousRules(content.findings);
    if (rules.length > 0)
      refuseMalicious({ name, ...content }, { rules: await this.#options.person.override(rules), byAgent: false });
    const answer = await this.#options.person.agree(question, content);
    await this.at("agreed");
    if (answer === "yes") return;
    if (answer === "no") throw new AegisError("forbidden", "nothing was changed: you did not agree");
    throw new AegisError("forbidden", "nothing was changed: no person can confirm it here", {
      hint: "agree with --yes",
    });
  }

  async script({ workspace }: Transaction, file: string, run: ScriptRun): Promise<void> {
    const { place, config, person, processes, env, signal, scriptTimeoutMs } = this.#options;
    await runScript(file, {
      name: run.action === "uninstall" ? "uninstall" : "install",
      context: {
        reason: run.action,
        projectRoot: place.root,
        aegisDir: place.root,
        pluginDir: run.dir,
        installedDir: join(place.root, packageFolder(place, "plugin", run.name)),
        pluginName: run.name,
        previousVersion: run.previous,
        purge: run.purge ?? false,
        manifest: run.manifest,
        config: await config.describe(run.additions.plan),
      },
      additions: run.additions,
      scratch: workspace.dir,
      config,
      person,
      processes,
      env,
      signal,
      ...(scriptTimeoutMs === undefined ? {} : { timeoutMs: scriptTimeoutMs }),
    });
  }
}
