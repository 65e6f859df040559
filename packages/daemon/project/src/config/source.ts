/** One config file: validates its bytes, parses its YAML and converts the content to plain data. */

import { errorText } from "@aegis/lib/log.ts";
import {
  type Alias,
  type Document,
  isAlias,
  isCollection,
  isMap,
  isPair,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  parseDocument,
  type Scalar,
  visit,
} from "yaml";
import { decodeText, type TextPosition } from "./decode.ts";
import { isMergeKey, offsetOf, pathAt } from "./positions.ts";
import { type ConfigProblem, formatPath, type KeyPath } from "./problem.ts";

export type ConfigSource = {
  /** Relative to the project's folder. */
  file: string;
  /** The position of the file's content in the whole configuration: `["queues", "build"]` for an overlay. */
  prefix: KeyPath;
  document: Document.Parsed;
  lines: LineCounter;
  /** The content as plain data; undefined if the file is unusable. */
  value: unknown;
  /** The offset at which the YAML becomes invalid. The parser guessed everything after it. */
  brokenAt: number | null;
  problems: ConfigProblem[];
};

/** A longer list would hide the first errors. */
const maxSyntaxErrors = 20;

export function parseSource(file: string, prefix: KeyPath, bytes: Uint8Array): ConfigSource {
  const lines = new LineCounter();
  const decoded = decodeText(bytes);
  const document = parseYaml("text" in decoded ? decoded.text : "", lines);
  const source: ConfigSource = { file, prefix, document, lines, value: undefined, brokenAt: null, problems: [] };
  if (!("text" in decoded)) {
    source.problems.push({ file, ...decoded.at, key: formatPath(prefix), message: decoded.message });
    return source;
  }
  const errors = [...document.errors, ...document.warnings].sort((a, b) => a.pos[0] - b.pos[0]);
  for (const error of errors.slice(0, maxSyntaxErrors))
    source.problems.push(problemAt(source, error.pos[0], syntaxMessage(error)));
  source.brokenAt = errors[0]?.pos[0] ?? null;
  // For a file full of errors, the parser's guesses are useless and slow to process.
  if (errors.length > maxSyntaxErrors || errors.some((error) => error.code === "NON_STRING_KEY")) return source;
  const fault = findExpansionFault(document.contents);
  if (fault !== null) {
    source.problems.push(problemAt(source, offsetOf(fault.node) ?? 0, fault.message));
    return source;
  }
  for (const { first, again } of findDuplicates(document).slice(0, maxSyntaxErrors)) {
    const { line } = placeOf(source, offsetOf(first) ?? 0);
    const message = `expected the key "${String(again.value)}" once, found it again (first on line ${line})`;
    source.problems.push(problemAt(source, offsetOf(again) ?? 0, message));
  }
  source.value = toValue(source);
  return source;
}

/** All readers and writers of config files share these options, so they see the same document. */
export function parseYaml(text: string, lineCounter?: LineCounter): Document.Parsed {
  return parseDocument(text, {
    merge: true,
    stringKeys: true,
    prettyErrors: false,
    uniqueKeys: false,
    logLevel: "error",
    ...(lineCounter === undefined ? {} : { lineCounter }),
  });
}

export function placeOf(source: ConfigSource, offset: number): TextPosition {
  const { line, col } = source.lines.linePos(offset);
  return { line: Math.max(line, 1), column: Math.max(col, 1) };
}

function problemAt(source: ConfigSource, offset: number, message: string): ConfigProblem {
  const key = formatPath([...source.prefix, ...pathAt(source.document.contents, offset)]);
  return { file: source.file, ...placeOf(source, offset), key, message };
}

function syntaxMessage(error: { code: string; message: string }): string {
  if (error.code === "MULTIPLE_DOCS") return "expected one YAML document, found another one after ---";
  if (error.code === "NON_STRING_KEY") return "expected a plain word as the key, found a list or a map";
  if (error.code === "RESOURCE_EXHAUSTION") return tooDeep;
  return `not valid YAML: ${error.message.replace(/\.$/, "")}`;
}

function toValue(source: ConfigSource): unknown {
  try {
    // Aliases were already counted, including what they expand to.
    return source.document.toJS({ maxAliasCount: -1 }) ?? {};
  } catch (error) {
    source.problems.push(problemAt(source, wrongMerge(source.document), `not valid YAML: ${errorText(error)}`));
    return undefined;
  }
}

/** Handles the one construct that parses but has no value: `<<` with a value that is not a map. */
function wrongMerge(document: Document.Parsed): number {
  let found = 0;
  visit(document, {
    Pair(_, pair) {
      if (!isMergeKey(pair.key)) return;
      const value = isAlias(pair.value) ? pair.value.resolve(document) : pair.value;
      if (isMap(value) || isSeq(value)) return;
      found = offsetOf(pair.value) ?? 0;
      return visit.BREAK;
    },
  });
  return found;
}

type Duplicate = { first: Scalar; again: Scalar };

/** Finds duplicate keys in maps. The check in the YAML library is quadratic and slow on large files. */
function findDuplicates(document: Document): Duplicate[] {
  const found: Duplicate[] = [];
  visit(document, {
    Map(_, map) {
      if (!isMap(map)) return;
      const seen = new Map<string, Scalar>();
      for (const { key } of map.items) {
        if (!isScalar(key) || isMergeKey(key)) continue;
        const first = seen.get(String(key.value));
        if (first === undefined) seen.set(String(key.value), key);
        else found.push({ first, again: key });
      }
    },
  });
  return found;
}

/** A configuration with a hundred agents that share a few anchors stays far below this limit. */
const maxNodes = 100_000;
const maxAliases = 1000;

/**
 * Limits what a document expands to when its aliases are resolved: returns the node that makes it cyclic or grow
 * exponentially, or null if the document can be converted to plain data.
 */
function findExpansionFault(contents: unknown): { node: Node | null; message: string } | null {
  try {
    new Measure().size(contents);
    return null;
  } catch (error) {
    if (error instanceof Fault) return { node: error.node, message: error.message };
    if (error instanceof RangeError) return { node: null, message: tooDeep };
    throw error;
  }
}

const tooDeep = "expected a flat file, found values nested too deeply";

class Fault extends Error {
  readonly node: Node;

  constructor(node: Node, message: string) {
    super(message);
    this.node = node;
  }
}

class Measure {
  readonly #sizes = new Map<Node, number>();
  readonly #anchors = new Map<string, Node>();
  readonly #open = new Set<Node>();
  #aliases = 0;

  size(value: unknown): number {
    if (isPair(value)) {
      if (isScalar(value.key) && value.key.value === "__proto__")
        throw new Fault(value.key, 'expected another name, found "__proto__", which is reserved');
      return this.size(value.key) + this.size(value.value);
    }
    if (isAlias(value)) return this.#aliasSize(value);
    if (!isScalar(value) && !isCollection(value)) return 0;
    if (value.anchor !== undefined) this.#anchors.set(value.anchor, value);
    this.#open.add(value);
    let total = 1;
    if (isCollection(value)) for (const item of value.items) total += this.size(item);
    this.#open.delete(value);
    this.#sizes.set(value, total);
    if (total > maxNodes)
      throw new Fault(value, `expected at most ${maxNodes} values with aliases followed, found more`);
    return total;
  }

  #aliasSize(alias: Alias): number {
    this.#aliases++;
    const target = this.#anchors.get(alias.source);
    if (target === undefined) throw new Fault(alias, `expected an anchor &${alias.source} above, found none`);
    if (this.#open.has(target)) throw new Fault(alias, `the alias *${alias.source} stands inside what it names`);
    if (this.#aliases > maxAliases) throw new Fault(alias, `expected at most ${maxAliases} aliases, found more`);
    return this.#sizes.get(target) ?? 0;
  }
}
