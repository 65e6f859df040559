/** Installs third-party skills: holds what needs consent, refuses what is malicious, and reports each change. */
import { join } from "node:path";
import { AegisError } from "@aegis/contract/errors.ts";
import type { EventOf } from "@aegis/contract/event.ts";
import type { SessionId } from "@aegis/contract/ids.ts";
import type {
  FetchedSkill,
  InstalledSkillView,
  InstallOutcome,
  RegistryDetail,
  RegistrySkill,
  SkillScope,
} from "@aegis/contract/skill-install.ts";
import { exists } from "@aegis/lib/files.ts";
import { errorText, type Logger } from "@aegis/lib/log.ts";
import { didYouMean } from "@aegis/lib/nearest.ts";
import { type SkillOutline, skillKey } from "@aegis/skills/skill.ts";
import { ClawHubClient, type ClawhubOptions } from "../clawhub.ts";
import type { FetchDeps } from "../fetch.ts";
import { Installer, type PreparedPackage } from "../installer.ts";
import { type Checkpoint, hasLeftovers } from "../journal.ts";
import type { LockEntry } from "../lockfile.ts";
import { type InstallPlace, packageFolder, packagesFolder } from "../place.ts";
import { overriddenIn, refuseMalicious } from "../refusal.ts";
import { verdictOf } from "../scan/verdict.ts";
import type { PackageSource } from "../source.ts";
import { folderName, skillKind } from "./kind.ts";
import { clearOldStages } from "./old-stages.ts";

export type InstallerOptions = Omit<FetchDeps, "registry" | "bundledDir"> &
  Pick<ClawhubOptions, "token"> & {
    /** The base of relative paths. */
    root: string;
    home: string;
    places: Readonly<Record<SkillScope, InstallPlace>>;
    log: Logger;
    /** Called after a skill was installed or removed. */
    changed: (change: SkillChange) => Promise<void>;
    /** The base URL of the registry. */
    registry: () => string;
    at?: Checkpoint;
  };

export type InstallRequest = {
  source: string;
  /** The skill to install if the source contains several. */
  name: string | null;
  scope: SkillScope;
  /** Replace a skill from another source or with edits. */
  force: boolean;
  /** Require consent even without findings. */
  askFirst: boolean;
  /** The hash whose findings a person has accepted. */
  accept: string | null;
  /** The rules whose malicious findings a person overrides, for the accepted hash; never set by an agent. */
  override: readonly string[];
  /** The session whose agent requests it; absent for a person. */
  by?: SessionId;
};

export type SkillChange = { session: SessionId | null } & (
  | Pick<EventOf<"skill.installed">, "type" | "data">
  | Pick<EventOf<"skill.updated">, "type" | "data">
  | Pick<EventOf<"skill.removed">, "type" | "data">
);

/** How long a fetched skill waits for consent before it must be fetched again. */
const heldMs = 15 * 60_000;

/** A fetched skill and the place it is for. */
type Staged = {
  prepared: PreparedPackage<SkillOutline>;
  place: InstallPlace;
  folder: string;
  skill: FetchedSkill;
  stagedAt: number;
};

export class SkillInstaller {
  readonly #options: InstallerOptions;
  readonly #registry: ClawHubClient;
  readonly #installer: Installer<SkillOutline>;
  /** Fetched skills that wait for consent, by scope, source and hash. */
  readonly #held = new Map<string, Staged>();

  constructor(options: InstallerOptions) {
    this.#options = options;
    const { processes, clock, env, githubUrl, token, network, at } = options;
    this.#registry = new ClawHubClient({
      url: options.registry,
      token,
      clock,
      ...(network === undefined ? {} : { network }),
    });
    this.#installer = new Installer(
      skillKind,
      {
        processes,
        clock,
        env,
        githubUrl,
        bundledDir: null,
        registry: this.#registry,
        ...(network === undefined ? {} : { network }),
      },
      at,
    );
  }

  /** Completes or undoes changes that a crash interrupted. */
  async recover(): Promise<void> {
    for (const place of Object.values(this.#options.places)) {
      try {
        if (await hasLeftovers(place))
          for (const line of await this.#installer.recover(place)) this.#options.log.warn(line);
        const stages = join(place.installs, "..", "staging", "skills");
        if (await exists(stages)) await place.exclusively(() => clearOldStages(place, stages));
      } catch (error) {
        const about = { place: place.installs, error: errorText(error) };
        this.#options.log.warn("an interrupted install could not be settled", about);
      }
    }
  }

  /** Fetches and scans the skill. Installs it unless consent is required first. */
  async install(request: InstallRequest, signal: AbortSignal): Promise<InstallOutcome> {
    await this.#dropOld();
    const staged = this.#takeHeld(request) ?? (await this.#stage(request, signal));
    let isHeld = false;
    try {
      const { skill, place, folder } = staged;
      const before = (await this.#installer.installed(place)).get(folder) ?? null;
      await this.#refuse(staged, before, request);
      if (await this.#check(staged, before, request.force)) return { outcome: "unchanged", skill };
      const mustAsk = request.askFirst || skill.verdict !== "clean";
      if (mustAsk && request.accept !== skill.hash) {
        await this.#hold(heldKey(request, skill.hash), staged);
        isHeld = true;
        return { outcome: "consent", skill };
      }
      await this.#activate(staged, request.force);
      const outcome = skill.replaces === null ? "installed" : "updated";
      const { name, source, version, commit, hash, scope } = skill;
      await this.#tell({
        type: `skill.${outcome}`,
        session: request.by ?? null,
        data: { name, source, version, commit, hash, scope, ...overriddenIn(skill.findings) },
      });
      return { outcome, skill };
    } finally {
      if (!isHeld) await staged.prepared.workspace.drop();
    }
  }

  /** Fetches it again from its source. Throws `conflict` if it was edited, unless forced. */
  async update(
    name: string,
    options: Pick<InstallRequest, "scope" | "force" | "accept" | "override">,
    signal: AbortSignal,
  ): Promise<InstallOutcome> {
    const { entry } = await this.#find(this.#options.places[options.scope], name);
    return this.install({ ...options, source: entry.source, name: entry.name, askFirst: false }, signal);
  }

  async remove(name: string, { scope, force }: Pick<InstallRequest, "scope" | "force">): Promise<InstalledSkillView> {
    const place = this.#options.places[scope];
    const { folder, entry: found } = await this.#find(place, name);
    let removed = await this.#view(place, folder, found);
    const { workspace } = await this.#installer.open(place);
    try {
      await this.#installer.commit(place, {
        workspace,
        folder,
        action: "uninstall",
        entry: async (entry) => {
          removed = await this.#view(place, folder, entry ?? found);
          if (removed.state === "edited" && !force) throw edited(removed.folder, "removed");
          return null;
        },
      });
    } finally {
      await workspace.drop();
    }
    const { source } = removed;
    await this.#tell({ type: "skill.removed", session: null, data: { name: removed.name, source, scope } });
    return removed;
  }

  async list(): Promise<InstalledSkillView[]> {
    const views: InstalledSkillView[] = [];
    for (const place of Object.values(this.#options.places))
      for (const [folder, entry] of await this.#installer.installed(place))
        views.push(await this.#view(place, folder, entry));
    return views;
  }

  async search(
    query: string,
    limit: number,
    signal: AbortSignal,
  ): Promise<{ registry: string; skills: RegistrySkill[] }> {
    return { registry: this.#registry.url, skills: await this.#registry.search(query, limit, signal) };
  }

  async info(text: string, signal: AbortSignal): Promise<RegistryDetail> {
    const source = skillKind.parse(text, this.#options);
    if (source.kind !== "registry")
      throw new AegisError("invalid", `"${text}" is not the name of a skill in the registry`);
    return this.#registry.info(source, signal);
  }

  /** By the name of the skill or of its folder. Throws `not_found` with the nearest name. */
  async #find(place: InstallPlace, name: string): Promise<{ folder: string; entry: LockEntry }> {
    const installed = await this.#installer.installed(place);
    const key = skillKey(name);
    for (const [folder, entry] of installed)
      if (skillKey(folder) === key || skillKey(entry.name) === key) return { folder, entry };
    const names = [...installed.values()].map((entry) => entry.name);
    const hint =
      place.scope === "project" ? "`--user` means those of the user" : "without `--user` those of the project";
    throw new AegisError("not_found", `no installed skill "${name}"${didYouMean(name, names)}`, { hint });
  }

  async #view(place: InstallPlace, folder: string, entry: LockEntry): Promise<InstalledSkillView> {
    const { name, source, version, commit, hash, updated_at: installed_at, overridden } = entry;
    const view = {
      name,
      source,
      version,
      commit,
      hash,
      installed_at,
      ...(overridden === undefined ? {} : { overridden }),
    };
    const state = await this.#installer.state(place, folder, entry);
    return { ...view, scope: place.scope, folder: join(place.root, packageFolder(place, "skill", folder)), state };
  }

  async #stage({ source: written, name, scope }: InstallRequest, signal: AbortSignal): Promise<Staged> {
    const place = this.#options.places[scope];
    const source = skillKind.parse(written, this.#options);
    const { workspace } = await this.#installer.open(place);
    try {
      const prepared = await this.#installer.prepare(workspace, { source, name }, signal);
      const { about, version, commit, hash, files, bytes, findings } = prepared;
      const folder = folderName(about);
      const verdict = verdictOf(findings);
      const skill: FetchedSkill = {
        name: about.name,
        description: about.description,
        scope,
        folder: join(place.root, packagesFolder(place, "skill"), folder),
        source: sourceText(source),
        version,
        commit,
        hash,
        files,
        bytes,
        verdict: verdict === "note" ? "clean" : verdict,
        findings,
        replaces: null,
      };
      return { prepared, place, folder, skill, stagedAt: this.#options.clock.now() };
    } catch (error) {
      await workspace.drop();
      throw error;
    }
  }

  /** Throws for malicious content, unless a person overrides it now or has overridden it for the files in place. */
  async #refuse({ place, folder, skill }: Staged, before: LockEntry | null, request: InstallRequest): Promise<void> {
    const wasOverridden = before?.overridden !== undefined && before.hash === skill.hash;
    if (wasOverridden && (await this.#installer.state(place, folder, before)) === "intact") return;
    const rules = request.accept === skill.hash ? request.override : [];
    refuseMalicious(skill, { rules, byAgent: request.by !== undefined });
  }

  /** Returns true if exactly this content is already in place. Throws `conflict` for what must not be replaced. */
  async #check({ place, folder, skill }: Staged, before: LockEntry | null, force: boolean): Promise<boolean> {
    skill.replaces = before === null ? null : { version: before.version, commit: before.commit, hash: before.hash };
    const state = await this.#installer.state(place, folder, before ?? { hash: "" });
    if (state === "missing") return false;
    if (before === null && !force)
      throw new AegisError("conflict", `${skill.folder} already exists, and Aegis did not install it`, {
        hint: "rename it, or install over it with --force",
      });
    if (before === null) return false;
    if (before.source !== skill.source && !force)
      throw new AegisError("conflict", `${skill.name} was installed from ${before.source}, not from ${skill.source}`, {
        hint: "remove it first, or install over it with --force",
      });
    if (state === "edited" && !force) throw edited(skill.folder, "replaced");
    return state === "intact" && before.hash === skill.hash && before.source === skill.source;
  }

  /** Checks again: another process may have made changes during the fetch. */
  async #activate(staged: Staged, force: boolean): Promise<void> {
    const { place, folder, skill, prepared } = staged;
    const { name, source, version, commit, hash } = skill;
    const now = new Date(this.#options.clock.now()).toISOString();
    await this.#installer.commit(place, {
      workspace: prepared.workspace,
      folder,
      action: skill.replaces === null ? "install" : "update",
      entry: async (before) => {
        await this.#check(staged, before, force);
        const times = { installed_at: before?.installed_at ?? now, updated_at: now };
        return { name, source, registry: null, version, commit, hash, ...times, ...overriddenIn(skill.findings) };
      },
    });
  }

  /** A failed notification does not undo the change. */
  async #tell(change: SkillChange): Promise<void> {
    const { name, source } = change.data;
    this.#options.log.info("skills changed", { change: change.type, skill: name, source });
    await this.#options.changed(change).catch((error: unknown) => {
      this.#options.log.warn("a change of the skills could not be recorded", { skill: name, error: errorText(error) });
    });
  }

  async #hold(key: string, staged: Staged): Promise<void> {
    const before = this.#held.get(key);
    this.#held.set(key, staged);
    await before?.prepared.workspace.drop();
  }

  #takeHeld(request: InstallRequest): Staged | null {
    if (request.accept === null) return null;
    const key = heldKey(request, request.accept);
    const staged = this.#held.get(key);
    this.#held.delete(key);
    return staged ?? null;
  }

  async #dropOld(): Promise<void> {
    const since = this.#options.clock.now() - heldMs;
    for (const [key, { stagedAt, prepared }] of this.#held) {
      if (stagedAt > since) continue;
      this.#held.delete(key);
      await prepared.workspace.drop();
    }
  }
}

function heldKey({ scope, source, name }: InstallRequest, hash: string): string {
  return JSON.stringify([scope, source, name, hash]);
}

/** The normalized source, which an update fetches again. */
function sourceText(source: PackageSource): string {
  if (source.kind === "path") return source.path;
  if (source.kind !== "registry") return source.text;
  const owner = source.owner === null ? "" : `@${source.owner}/`;
  return `clawhub:${owner}${source.slug}${source.version === null ? "" : `@${source.version}`}`;
}

function edited(folder: string, what: "removed" | "replaced"): AegisError {
  return new AegisError("conflict", `${folder} was edited since it was installed; it is not ${what}`, {
    hint: "keep the edits elsewhere, or use --force to lose them",
  });
}
