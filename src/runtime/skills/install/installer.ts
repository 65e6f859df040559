/** Installs skills from elsewhere: fetch, look through, put in place; and updates and removes them. */
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { AegisError } from "../../../contract/errors.ts";
import type { EventOf } from "../../../contract/event.ts";
import type { SessionId } from "../../../contract/ids.ts";
import type {
  InstalledSkillView,
  InstallOutcome,
  RegistryDetail,
  RegistrySkill,
  SkillScope,
} from "../../../contract/skill-install.ts";
import { errorText, type Logger } from "../../../lib/log.ts";
import { exists, holding, type InstallPlace, installPlaces, putInPlace, skillHash, takeAway } from "./activation.ts";
import { Registry, type RegistryOptions } from "./clawhub.ts";
import { edited, findInstalled, viewOf } from "./installed.ts";
import { readLock } from "./lockfile.ts";
import { defaultGitBase, type MaterialOptions } from "./material.ts";
import { asAegisError } from "./problems.ts";
import { parseSource, type SkillSourceSpec } from "./source.ts";
import { type Staged, stageSkill } from "./stage.ts";

export type InstallerOptions = Omit<MaterialOptions, "registry" | "gitBase"> &
  Pick<RegistryOptions, "token"> & {
    root: string;
    stateDir: string;
    home: string;
    log: Logger;
    /** Tells of what is in place, or gone, by now. */
    changed: (change: SkillChange) => Promise<void>;
    /** Base URL of the registry. */
    registry: () => string;
    gitBase?: string;
  };

export type InstallRequest = {
  source: string;
  /** Which one, when the source holds several. */
  name: string | null;
  scope: SkillScope;
  /** Also over a skill of another source, or one that was edited. */
  force: boolean;
  /** Somebody has to consent also when nothing was found. */
  askFirst: boolean;
  /** The hash whose findings a person has accepted. */
  accept: string | null;
  /** The session whose agent wants it; nobody's when a person does. */
  by?: SessionId;
};

export type SkillChange = { session: SessionId | null } & (
  | Pick<EventOf<"skill.installed">, "type" | "data">
  | Pick<EventOf<"skill.updated">, "type" | "data">
  | Pick<EventOf<"skill.removed">, "type" | "data">
);

/** How long a fetched skill waits for consent before it has to be fetched again. */
const heldMs = 15 * 60_000;

export class SkillInstaller {
  readonly #options: InstallerOptions;
  readonly #places: Record<SkillScope, InstallPlace>;
  readonly #registry: Registry;
  /** Fetched and waiting for consent, by scope, source and hash. */
  readonly #held = new Map<string, Staged>();

  constructor(options: InstallerOptions) {
    this.#options = options;
    this.#places = installPlaces(options.root, options.stateDir, options.home);
    const { clock, token, network } = options;
    this.#registry = new Registry({
      url: options.registry,
      token,
      clock,
      ...(network === undefined ? {} : { network }),
    });
  }

  /** Finishes what a crash left in between. */
  async recover(signal: AbortSignal): Promise<void> {
    for (const place of Object.values(this.#places)) {
      try {
        if (await exists(place.staging)) await holding(place, async () => {}, { clock: this.#options.clock, signal });
      } catch (error) {
        const about = { place: place.staging, error: errorText(error) };
        this.#options.log.warn("staged skills could not be swept", about);
      }
    }
  }

  /** Fetches and looks through. Puts it in place unless somebody has to consent first. */
  async install(request: InstallRequest, signal: AbortSignal): Promise<InstallOutcome> {
    await this.#dropOld();
    const staged = this.#takeHeld(request) ?? (await this.#stage(request, signal));
    try {
      const { skill, place } = staged;
      const unchanged = await this.#check(staged, request.force);
      if (unchanged) {
        await this.#discard(staged);
        return { outcome: "unchanged", skill };
      }
      const mustAsk = request.askFirst || skill.verdict === "suspicious";
      if (mustAsk && request.accept !== skill.hash) {
        await this.#hold(heldKey(request, skill.hash), staged);
        return { outcome: "consent", skill };
      }
      await holding(place, () => this.#activate(staged, request.force), { clock: this.#options.clock, signal });
      const outcome = skill.replaces === null ? "installed" : "updated";
      const { name, source, version, commit, hash, scope } = skill;
      await this.#tell({
        type: `skill.${outcome}`,
        session: request.by ?? null,
        data: { name, source, version, commit, hash, scope },
      });
      return { outcome, skill };
    } catch (error) {
      await this.#discard(staged);
      throw asAegisError(error);
    }
  }

  /** The same again from where it came. Throws `conflict` over edits without force. */
  async update(
    name: string,
    options: Pick<InstallRequest, "scope" | "force" | "accept">,
    signal: AbortSignal,
  ): Promise<InstallOutcome> {
    const { entry } = await findInstalled(this.#places[options.scope], name);
    return this.install({ ...options, source: entry.source, name: entry.name, askFirst: false }, signal);
  }

  async remove(
    name: string,
    options: Pick<InstallRequest, "scope" | "force">,
    signal: AbortSignal,
  ): Promise<InstalledSkillView> {
    const place = this.#places[options.scope];
    const removed = await holding(
      place,
      async () => {
        const { folder, entry } = await findInstalled(this.#places[options.scope], name);
        const view = await viewOf(place, folder, entry);
        if (view.state === "edited" && !options.force) throw edited(view.folder, "removed");
        await takeAway(place, folder);
        return view;
      },
      { clock: this.#options.clock, signal },
    );
    const { source, scope } = removed;
    await this.#tell({ type: "skill.removed", session: null, data: { name: removed.name, source, scope } });
    return removed;
  }

  async list(): Promise<InstalledSkillView[]> {
    const views: InstalledSkillView[] = [];
    for (const place of Object.values(this.#places))
      for (const [folder, entry] of await readLock(place.lock)) views.push(await viewOf(place, folder, entry));
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
    const source = this.#parse(text);
    if (source.kind !== "registry")
      throw new AegisError("invalid", `"${text}" is not the name of a skill in the registry`);
    return this.#registry.info(source, signal);
  }

  #parse(text: string): SkillSourceSpec {
    const { root, home, gitBase = defaultGitBase } = this.#options;
    return parseSource(text, { root, home, gitBase });
  }

  #stage(request: InstallRequest, signal: AbortSignal): Promise<Staged> {
    const { gitBase = defaultGitBase } = this.#options;
    const options = { ...this.#options, gitBase, registry: this.#registry };
    const wanted = { source: this.#parse(request.source), written: request.source, name: request.name };
    return stageSkill(wanted, this.#places[request.scope], options, signal);
  }

  /** True when exactly this is in place already. Throws `conflict` for what may not be replaced. */
  async #check(staged: Staged, force: boolean): Promise<boolean> {
    const { place, folder, skill } = staged;
    const before = (await readLock(place.lock)).get(folder) ?? null;
    skill.replaces = before === null ? null : { version: before.version, commit: before.commit, hash: before.hash };
    const target = join(place.skills, folder);
    if (!(await exists(target))) return false;
    if (before === null && !force)
      throw new AegisError("conflict", `${target} is there already and was not installed`, {
        hint: "rename it, or install over it with --force",
      });
    if (before === null) return false;
    if (before.source !== skill.source && !force)
      throw new AegisError("conflict", `${skill.name} was installed from ${before.source}, not from ${skill.source}`, {
        hint: "remove it first, or install over it with --force",
      });
    const hash = await skillHash(target);
    if (hash !== before.hash && !force) throw edited(target, "replaced");
    return hash === skill.hash && before.source === skill.source;
  }

  /** Looks again: others may have changed something while this one was fetched. */
  async #activate(staged: Staged, force: boolean): Promise<void> {
    await this.#check(staged, force);
    const { place, stage, folder, skill } = staged;
    const { name, source, version, commit, hash } = skill;
    const installed_at = new Date(this.#options.clock.now()).toISOString();
    await putInPlace(place, stage, folder, { name, source, version, commit, hash, installed_at });
  }

  /** What is done is done, whether or not anybody can be told. */
  async #tell(change: SkillChange): Promise<void> {
    const { name, source } = change.data;
    this.#options.log.info("skills changed", { change: change.type, skill: name, source });
    await this.#options.changed(change).catch((error: unknown) => {
      this.#options.log.warn("a change of the skills is not on record", { skill: name, error: errorText(error) });
    });
  }

  async #hold(key: string, staged: Staged): Promise<void> {
    const before = this.#held.get(key);
    this.#held.set(key, staged);
    if (before !== undefined) await this.#discard(before);
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
    for (const [key, staged] of this.#held) {
      if (staged.stagedAt > since) continue;
      this.#held.delete(key);
      await this.#discard(staged);
    }
  }

  async #discard({ stage }: Staged): Promise<void> {
    await rm(stage, { recursive: true, force: true });
  }
}

function heldKey({ scope, source, name }: InstallRequest, hash: string): string {
  return JSON.stringify([scope, source, name, hash]);
}
