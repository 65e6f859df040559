/**
 * All skills from disk and from plugins, sorted by precedence. Nothing is watched; each use checks for changes, which
 * costs one stat per file.
 */
import { realpathSync } from "node:fs";
import type { SkillDiagnostic } from "@aegis/contract/skill.ts";
import { Slices } from "@aegis/lib/slices.ts";
import { untilAborted } from "@aegis/lib/until-aborted.ts";
import { parsePage } from "./page.ts";
import type { ParsedSkill } from "./parse.ts";
import type { SkillRoot } from "./places.ts";
import { headBytes, maxPageBytes, readPage } from "./read-page.ts";
import { type FoundPage, isOutdated, type Scan, type ScanLimits, scanLimits, scanRoots } from "./scan.ts";
import { type SkillOutline, skillKey } from "./skill.ts";

export type LibraryState = {
  /** Increases with each change. */
  version: number;
  /** The effective skill of each name, sorted by name. */
  skills: readonly SkillOutline[];
  byKey: ReadonlyMap<string, SkillOutline>;
  /** The skills that another one with the same name hides. */
  hidden: ReadonlyMap<SkillOutline, readonly SkillOutline[]>;
  diagnostics: readonly SkillDiagnostic[];
};

export type SkillRoots = { above: readonly SkillRoot[]; below: readonly SkillRoot[] };

export type LibraryOptions = {
  /** Called again when `refresh` gets another list of configured folders. */
  roots: (dirs: readonly string[]) => SkillRoots;
  limits?: ScanLimits;
  now: () => number;
};

type Known = {
  stamp: string;
  parsed: ParsedSkill;
  /** The file changed so recently that another change could go unnoticed. */
  fresh: boolean;
};

/** A file that is written twice within this time may have the same timestamp. */
const clockGrainMs = 50;
const noDirs: readonly string[] = [];

export class SkillLibrary {
  readonly #options: LibraryOptions;
  readonly #added = new Set<ParsedSkill>();
  #known = new Map<string, Known>();
  #scan: Scan | null = null;
  #roots: SkillRoots & { dirs: readonly string[] } = { above: [], below: [], dirs: [] };
  #addedChanged = false;
  #state: LibraryState = { version: 0, skills: [], byKey: new Map(), hidden: new Map(), diagnostics: [] };
  #refreshing: Promise<LibraryState> | null = null;
  /** A refresh is shared by all callers, so it has no signal of a single caller; limits bound its time. */
  readonly #lasting = new AbortController();

  constructor(options: LibraryOptions) {
    this.#options = options;
  }

  /** Adds a plugin's skill with its diagnostics. Returns a function that removes it. */
  add(parsed: ParsedSkill): () => void {
    this.#added.add(parsed);
    this.#addedChanged = true;
    return () => {
      if (this.#added.delete(parsed)) this.#addedChanged = true;
    };
  }

  /** The state of the last refresh. */
  get state(): LibraryState {
    return this.#state;
  }

  /**
   * Applies changes. `dirs` are the folders that the configuration names. Concurrent calls share one refresh, so no
   * caller can abort it for the others.
   */
  refresh(signal: AbortSignal, dirs: readonly string[] = noDirs): Promise<LibraryState> {
    this.#refreshing ??= this.#refresh(dirs).finally(() => {
      this.#refreshing = null;
    });
    return untilAborted(this.#refreshing, signal);
  }

  async #refresh(dirs: readonly string[]): Promise<LibraryState> {
    const slices = new Slices();
    const same = dirs === this.#roots.dirs && !this.#addedChanged && !this.#hasFresh();
    if (same && this.#scan !== null && !(await isOutdated(this.#scan.seen, slices))) return this.#state;
    const roots = dirs === this.#roots.dirs && this.#scan !== null ? this.#roots : this.#options.roots(dirs);
    const { above, below } = roots;
    this.#addedChanged = false;
    const scan = await scanRoots(
      [...above, ...below],
      this.#options.limits ?? scanLimits,
      slices,
      this.#lasting.signal,
    );
    const known = new Map<string, Known>();
    const parsed: { page: FoundPage; result: ParsedSkill }[] = [];
    const room = Buffer.allocUnsafe(headBytes);
    for (const page of scan.pages) {
      parsed.push({ page, result: this.#parse(page, known, room) });
      await slices.rest();
    }
    const state = await this.#arrange(scan, parsed, new Set(below), slices);
    this.#known = known;
    this.#scan = scan;
    this.#roots = { above, below, dirs };
    this.#state = state;
    return this.#state;
  }

  #hasFresh(): boolean {
    for (const { fresh } of this.#known.values()) if (fresh) return true;
    return false;
  }

  #parse(page: FoundPage, known: Map<string, Known>, room: Buffer): ParsedSkill {
    const key = `${page.root.source}\n${page.file}`;
    const before = this.#known.get(key);
    if (before !== undefined && before.stamp === page.stamp && !before.fresh) {
      known.set(key, before);
      return before.parsed;
    }
    const fresh = this.#options.now() - page.changedAt < clockGrainMs;
    const { root, file, folder } = page;
    const origin = { source: root.source, plugin: null, file, folder, headerless: root.headerless };
    const parsed = parsePage(origin, room);
    known.set(key, { stamp: page.stamp, parsed, fresh });
    return parsed;
  }

  async #arrange(
    scan: Scan,
    parsed: { page: FoundPage; result: ParsedSkill }[],
    below: ReadonlySet<SkillRoot>,
    slices: Slices,
  ): Promise<LibraryState> {
    const added = [...this.#added];
    const results = [...parsed.map(({ result }) => result), ...added];
    const diagnostics = [...scan.diagnostics, ...results.flatMap((result) => result.diagnostics)];
    const ofRoots = (isBelow: boolean) =>
      parsed.flatMap(({ page, result }) =>
        result.skill !== null && below.has(page.root) === isBelow ? result.skill : [],
      );
    const byKey = new Map<string, SkillOutline>();
    const hidden = new Map<SkillOutline, SkillOutline[]>();
    for (const skill of [...ofRoots(false), ...added.flatMap(({ skill }) => skill ?? []), ...ofRoots(true)]) {
      const key = skillKey(skill.name);
      const winner = byKey.get(key);
      if (winner === undefined) byKey.set(key, skill);
      else {
        hidden.set(winner, [...(hidden.get(winner) ?? []), skill]);
        if (!isSame(winner, skill)) diagnostics.push(collision(winner, skill));
        await slices.rest();
      }
    }
    const skills = [...byKey.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
    return { version: this.#state.version + 1, skills, byKey, hidden, diagnostics };
  }
}

/** The same file by another path, or a copy of it, is not a collision. */
function isSame(a: SkillOutline, b: SkillOutline): boolean {
  if (a.file === null || b.file === null) return a.text !== null && a.text === b.text;
  try {
    if (realpathSync(a.file) === realpathSync(b.file)) return true;
    return readPage(a.file, maxPageBytes).text === readPage(b.file, maxPageBytes).text;
  } catch {
    return false;
  }
}

function collision(winner: SkillOutline, loser: SkillOutline): SkillDiagnostic {
  const place = (skill: SkillOutline) => skill.file ?? `the plugin ${skill.plugin ?? "?"}`;
  return {
    level: "warning",
    code: "collision",
    skill: winner.name,
    file: loser.file,
    line: null,
    message: `another "${winner.name}" with different text takes precedence: ${place(winner)}`,
  };
}
