/** Where the words of lures are in a text. Each word alone is harmless; the lures combine them. */
import * as stem from "./lure-stems.ts";
import * as say from "./lure-words.ts";
import { matchPart } from "./text-search.ts";

const features = {
  visit: say.visitWords,
  mention: say.mentionWords,
  command: say.commandWords,
  run: say.runWords,
  paste: say.pasteWords,
  copy: say.copyWords,
  terminal: say.terminalWords,
  anonymous: say.anonymousLink.source,
  extract: say.extractWords,
  archive: say.archiveWords,
  download: say.downloadWords,
  starts: say.startsProgram.source,
  presses: say.presses.source,
  threatens: say.threatens.source,
  helper: say.namesHelper.source,
  guard: say.lowersGuard.source,
  locked: say.isLocked.source,
  samples: say.handlesSamples.source,
  others: say.tellsOfOthers.source,
  shellPlace: stem.shellPlace,
  commandNoun: stem.commandNoun,
  actVerb: stem.actVerb,
  copyVerb: stem.copyVerb,
  pasteVerb: stem.pasteVerb,
  givenThere: stem.givenThere,
  credential: stem.credential,
  lockAndKey: stem.lockAndKey,
  packed: stem.packed,
  startVerb: stem.startVerb,
  obtainVerb: stem.obtainVerb,
  prerequisite: stem.prerequisite,
  mustHave: stem.mustHave,
  toolNoun: stem.toolNoun,
} as const;

type Feature = keyof typeof features;

const patterns = Object.entries(features).map(([name, source]) => [name as Feature, new RegExp(source, "gu")] as const);

const partLength = 8 * 1024;
/** The distance from a link or a password within which words count. */
const horizon = 1_000;

/** The positions of each feature near a link or a password. */
export class Hits {
  readonly #places: ReadonlyMap<Feature, number[]>;

  constructor() {
    this.#places = new Map(patterns.map(([name]) => [name, []]));
  }

  /** `centres` are sorted. */
  *collect(text: string, centres: readonly number[]): Generator<undefined> {
    let next = 0;
    for (let start = 0; start < text.length; start += partLength) {
      while ((centres[next] ?? Infinity) < start - horizon) next++;
      if ((centres[next] ?? Infinity) > start + partLength + horizon) continue;
      for (const [name, pattern] of patterns) {
        const places = this.#places.get(name);
        for (const { index } of matchPart(text, start, partLength, pattern)) places?.push(index);
        yield undefined;
      }
    }
  }

  within(feature: Feature, from: number, to: number): boolean {
    return this.first(feature, from, to) !== null;
  }

  first(feature: Feature, from: number, to: number): number | null {
    const places = this.#places.get(feature) ?? [];
    let [low, high] = [0, places.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((places[middle] ?? 0) < from) low = middle + 1;
      else high = middle;
    }
    const found = places[low];
    return found !== undefined && found <= to ? found : null;
  }
}
