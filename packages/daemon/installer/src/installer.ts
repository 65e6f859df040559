/**
 * Installs packages of one kind. A package is fetched, copied and scanned in a workspace; then one journal puts its
 * folder, its entry in the lockfile and all other changed files in place, or none of them.
 */
import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import type { SkillFinding } from "@aegis/contract/skill-install.ts";
import { exists } from "@aegis/lib/files.ts";
import { copyTree } from "@aegis/lib/safe-tree.ts";
import { type FetchDeps, type FetchedPackage, fetchSource } from "./fetch.ts";
import { FilePlan } from "./file-plan.ts";
import { type Checkpoint, type FolderSwap, recoverWorkspaces, Workspace } from "./journal.ts";
import type { Kind, WantedPackage } from "./kind.ts";
import { type LockEntry, readLock, writeLock } from "./lockfile.ts";
import { type InstallPlace, packageFolder } from "./place.ts";

/** A package in a workspace. Nothing is in use before it is committed. */
export type PreparedPackage<About> = Pick<FetchedPackage, "version" | "commit"> & {
  workspace: Workspace;
  dir: string;
  about: About;
  source: WantedPackage["source"];
  hash: string;
  files: number;
  bytes: number;
  findings: SkillFinding[];
};

export type Commit = {
  workspace: Workspace;
  /** The name of the package's folder. */
  folder: string;
  action: "install" | "update" | "uninstall";
  /** Other changes of the same step. */
  plan?: FilePlan;
  swaps?: readonly FolderSwap[];
  trust?: string | null;
  /**
   * Called while no other process changes the place. Receives the entry as it is then, and returns the new one, or null
   * to remove the package. Throws if the change is not allowed.
   */
  entry: (before: LockEntry | null, plan: FilePlan) => Promise<LockEntry | null>;
};

/** The folder of a workspace in which a package is prepared. */
const slot = "tree";

export class Installer<About> {
  readonly kind: Kind<About>;
  readonly #deps: FetchDeps;
  readonly at: Checkpoint;

  constructor(kind: Kind<About>, deps: FetchDeps, at: Checkpoint = () => {}) {
    this.kind = kind;
    this.#deps = deps;
    this.at = at;
  }

  /** Completes or rolls back what a killed process left. Returns descriptions of what was done. */
  recover(place: InstallPlace): Promise<string[]> {
    return place.exclusively(() => recoverWorkspaces(place));
  }

  /** Recovers first. The caller drops the workspace if it does not commit. */
  open(place: InstallPlace): Promise<{ workspace: Workspace; recovered: string[] }> {
    return place.exclusively(async () => {
      const recovered = await recoverWorkspaces(place);
      return { workspace: await Workspace.open(place), recovered };
    });
  }

  /** Fetches and scans a package. Throws for one that cannot be installed. The caller judges the findings. */
  async prepare(workspace: Workspace, wanted: WantedPackage, signal: AbortSignal): Promise<PreparedPackage<About>> {
    const { kind } = this;
    const { source } = wanted;
    const [material, dir] = [join(workspace.dir, "source"), join(workspace.dir, slot)];
    await this.at("stage");
    try {
      const fetched = await fetchSource(source, material, this.#deps, signal);
      const { folder, inspect } = await kind.find(fetched, wanted, signal);
      await mkdir(dir);
      const { files, bytes } = await copyTree(folder, dir, { limits: kind.limits, skip: kind.skip, signal });
      await rm(material, { recursive: true, force: true });
      const about = await inspect(dir);
      const hash = await kind.hash(dir);
      const scanned = hash === wanted.installed ? [] : await scan(dir, signal);
      const findings = [...fetched.findings, ...scanned];
      const { version, commit } = fetched;
      await this.at("staged");
      return { workspace, dir, about, source, version, commit, hash, files, bytes, findings };
    } catch (error) {
      throw kind.problem(error, source);
    }
  }

  /** Puts a prepared package in place, or removes one. If it throws, nothing has changed. */
  async commit(
    place: InstallPlace,
    { workspace, folder, action, swaps = [], trust = null, ...change }: Commit,
  ): Promise<void> {
    const { kind, at } = this;
    await at("commit");
    await place.exclusively(async () => {
      const plan = change.plan ?? new FilePlan(place.root);
      const before = (await readLock(plan, place))[kind.name].get(folder) ?? null;
      const entry = await change.entry(before, plan);
      await writeLock(plan, place, { kind: kind.name, folder, entry });
      const target = packageFolder(place, kind.name, folder);
      const all = [{ target, prepared: entry === null ? null : slot }, ...swaps];
      const decision = { [kind.name]: folder, action, trust };
      await workspace.commit(decision, { swaps: all, files: plan.changes() }, at);
    });
  }

  /** The installed packages by the name of their folder. */
  async installed(place: InstallPlace): Promise<ReadonlyMap<string, LockEntry>> {
    return (await readLock(new FilePlan(place.root), place))[this.kind.name];
  }

  /** `edited`: the files differ from the installed ones; `missing`: they are gone. */
  async state(
    place: InstallPlace,
    folder: string,
    entry: Pick<LockEntry, "hash">,
  ): Promise<"intact" | "edited" | "missing"> {
    const dir = join(place.root, packageFolder(place, this.kind.name, folder));
    if (!(await exists(dir))) return "missing";
    return (await this.kind.hash(dir)) === entry.hash ? "intact" : "edited";
  }
}

/** Loads the rules only for an install. */
async function scan(dir: string, signal: AbortSignal): Promise<SkillFinding[]> {
  return (await import("./scan/scan.ts")).scanTree(dir, signal);
}
