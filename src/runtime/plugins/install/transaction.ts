/** One change of a project's plugins: alone, after what an earlier one left is settled, and either whole or not at all. */
import { join } from "node:path";
import { AegisError } from "../../../contract/errors.ts";
import type { Trust } from "../trust/trust.ts";
import { FilePlan } from "./file-plan.ts";
import { type Checkpoint, type Decision, type FolderSwap, recoverWorkspaces, type Seal, Workspace } from "./journal.ts";
import { type Lock, lockFile, parseLock } from "./lockfile.ts";
import type { Additions, ProjectConfig } from "./project-config.ts";
import { type Person, runScript } from "./script.ts";
import type { SourceDeps } from "./sources.ts";

export type InstallerPerson = Person & {
  /** Whether to go on. `nobody`: there is no one to ask, and nothing was agreed to beforehand. */
  agree(question: string): Promise<"yes" | "no" | "nobody">;
};

export type InstallerOptions = SourceDeps & {
  /** The project's real path. */
  root: string;
  aegisVersion: string;
  config: ProjectConfig;
  person: InstallerPerson;
  trust: Trust;
  /** Notes in the user's own file what was agreed to, once it is in place. */
  seal: Seal;
  /** Runs while no other install of the project does. */
  alone: <T>(work: () => Promise<T>) => Promise<T>;
  /** Runs while nobody else edits the project's configuration. */
  whileConfigRests: <T>(work: () => Promise<T>) => Promise<T>;
  /** Where the daemon keeps what a plugin stores, relative to the root. */
  dataDir: (plugin: string) => string;
  at?: Checkpoint;
  scriptTimeoutMs?: number;
};

/** Where plugins are installed, relative to the project. */
export const pluginsFolder = join(".aegis", "plugins");

export type Transaction = {
  workspace: Workspace;
  plan: FilePlan;
  lock: Lock;
};

export type ScriptRun = {
  name: string;
  action: "install" | "update" | "uninstall";
  dir: string;
  previous: string | null;
  /** What it has gathered is to go with it. */
  purge?: boolean;
  manifest: Record<string, unknown>;
  additions: Additions;
};

export class Transactions {
  readonly #options: InstallerOptions;
  readonly at: Checkpoint;

  constructor(options: InstallerOptions) {
    this.#options = options;
    this.at = options.at ?? (() => {});
  }

  /** Ends what a killed command left. Gives what was done, in words. */
  async recover(): Promise<string[]> {
    return this.#options.alone(() => this.#recover());
  }

  /** Whatever `work` prepared and did not commit is dropped. */
  run<T>(work: (transaction: Transaction) => Promise<T>): Promise<T> {
    const { root, alone, person } = this.#options;
    return alone(async () => {
      for (const line of await this.#recover()) person.warn(line);
      const workspace = await Workspace.open(root);
      try {
        const plan = new FilePlan(root);
        await this.at("begin");
        return await work({ workspace, plan, lock: parseLock(await plan.read(lockFile)) });
      } finally {
        await workspace.drop();
      }
    });
  }

  async commit({ workspace, plan }: Transaction, decision: Decision, swaps: readonly FolderSwap[]): Promise<void> {
    const { whileConfigRests, config, seal } = this.#options;
    await this.at("commit");
    await whileConfigRests(async () => {
      await config.check(plan);
      await workspace.commit(decision, { swaps, files: plan.changes() }, { at: this.at, seal });
    });
  }

  /** Throws `forbidden` unless a person agrees. */
  async agree(question: string): Promise<void> {
    const answer = await this.#options.person.agree(question);
    await this.at("agreed");
    if (answer === "yes") return;
    if (answer === "no") throw new AegisError("forbidden", "nothing was changed: you did not agree");
    throw new AegisError("forbidden", "nothing was changed: nobody is here to agree", { hint: "agree with --yes" });
  }

  async script({ workspace }: Transaction, file: string, run: ScriptRun): Promise<void> {
    const { root, config, person, processes, env, signal, scriptTimeoutMs } = this.#options;
    await runScript(file, {
      name: run.action === "uninstall" ? "uninstall" : "install",
      context: {
        reason: run.action,
        projectRoot: root,
        aegisDir: root,
        pluginDir: run.dir,
        installedDir: join(root, pluginsFolder, run.name),
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

  #recover(): Promise<string[]> {
    const { root, whileConfigRests, seal } = this.#options;
    return whileConfigRests(() => recoverWorkspaces(root, seal));
  }
}
