/** Merges the files of a configuration: overlays add entries to the main file, and the local file overrides both. */
import { isRecord } from "@aegis/lib/is-record.ts";
import { fileStart } from "./decode.ts";
import type { ReadSources } from "./files.ts";
import { locate } from "./positions.ts";
import { type ConfigProblem, formatPath, type KeyPath } from "./problem.ts";
import { type ConfigSource, placeOf } from "./source.ts";

/** A problem in the merged configuration. `report` finds the file that causes it. */
export type Finding = {
  path: KeyPath;
  at: "key" | "value";
  message: string;
  /** True if the problem is a missing key. */
  missing?: boolean;
};

export type CombinedConfig = {
  /** Null keys are removed: Aegis treats them as absent. */
  value: unknown;
  /** True if every file parsed, so that a missing key is really missing. */
  whole: boolean;
  problems: ConfigProblem[];
  /** Returns the problem with its location, or null if it lies in a region that the parser had to guess. */
  report(finding: Finding): ConfigProblem | null;
};

export function combine(sources: ReadSources): CombinedConfig {
  const problems: ConfigProblem[] = [];
  const overlays: ConfigSource[] = [];
  let value: unknown = sources.main?.value ?? {};
  for (const overlay of sources.overlays) {
    if (overlay.value !== undefined && readPath(value, overlay.prefix) !== undefined) {
      problems.push(declaredTwice(overlay, sources.main));
      continue;
    }
    overlays.push(overlay);
    if (overlay.value !== undefined) value = withPath(value, overlay.prefix, overlay.value);
  }
  if (sources.local?.value !== undefined) value = mergeDeep(value, sources.local.value);

  const all = [sources.local, ...overlays, sources.main].filter((source) => source !== null);
  return {
    value: withoutNulls(value, []),
    whole: all.every((source) => source.brokenAt === null && source.value !== undefined),
    problems,
    report: (finding) => report(all, sources.local, finding),
  };
}

export function readPath(value: unknown, path: KeyPath): unknown {
  let current = value;
  for (const segment of path) {
    if (Array.isArray(current)) current = current[Number(segment)];
    else if (isRecord(current) && Object.hasOwn(current, segment)) current = current[segment];
    else return undefined;
  }
  return current;
}

function report(all: readonly ConfigSource[], local: ConfigSource | null, finding: Finding): ConfigProblem | null {
  const key = formatPath(finding.path);
  const found = all
    .filter((source) => source.prefix.every((segment, index) => finding.path[index] === segment))
    .map((source) => {
      const place = locate(source.document, finding.path.slice(source.prefix.length));
      return { source, depth: source.prefix.length + place.depth, offset: place[finding.at] };
    });
  const depth = Math.max(...found.map((place) => place.depth));
  const deepest = found.filter((place) => place.depth === depth);
  // The local file takes precedence if it sets this exact key. A missing key should be added to the shared files.
  const best =
    depth === finding.path.length ? deepest[0] : (deepest.find((place) => place.source !== local) ?? deepest[0]);
  if (best === undefined) return { file: ".aegis.yaml", ...fileStart, key, message: finding.message };
  const { brokenAt } = best.source;
  if (brokenAt !== null && (finding.missing === true || best.offset >= brokenAt)) return null;
  return { file: best.source.file, ...placeOf(best.source, best.offset), key, message: finding.message };
}

function declaredTwice(overlay: ConfigSource, main: ConfigSource | null): ConfigProblem {
  const name = String(overlay.prefix.at(-1));
  const place = main === null ? fileStart : placeOf(main, locate(main.document, overlay.prefix).key);
  const where = `${main?.file ?? ""}:${place.line}:${place.column}`;
  const message = `expected "${name}" to be declared once, found it here and at ${where}`;
  return { file: overlay.file, ...fileStart, key: formatPath(overlay.prefix), message };
}

function withPath(value: unknown, path: KeyPath, entry: unknown): unknown {
  const [head, ...rest] = path;
  if (head === undefined) return entry;
  // The schema reports a section of the wrong type; there is no map to add the entry to.
  if (value !== undefined && value !== null && !isRecord(value)) return value;
  return { ...value, [head]: withPath(value?.[head], rest, entry) };
}

/** Merges maps and replaces all other values. */
function mergeDeep(base: unknown, over: unknown): unknown {
  if (!isRecord(base) || !isRecord(over)) return over;
  const merged = { ...base };
  for (const [key, value] of Object.entries(over)) merged[key] = mergeDeep(base[key], value);
  return merged;
}

/** Nulls inside plugin settings and driver options stay: plugins and drivers validate those themselves. */
function withoutNulls(value: unknown, path: KeyPath): unknown {
  if (!isRecord(value) || isForeign(path)) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, entry]) => entry !== null)
      .map(([key, entry]) => [key, withoutNulls(entry, [...path, key])]),
  );
}

function isForeign(path: KeyPath): boolean {
  return (path.length === 2 && path[0] === "plugins") || (path.length === 3 && path[2] === "options");
}
