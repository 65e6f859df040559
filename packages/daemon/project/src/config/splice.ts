/**
 * Applies a change of a parsed document to its text and edits only the affected lines. The library's printer would lay
 * out the whole file again and move comments; this module keeps all other bytes.
 */
import { isDeepStrictEqual } from "node:util";
import {
  Document,
  isAlias,
  isCollection,
  isMap,
  isPair,
  isScalar,
  isSeq,
  type Node,
  type Pair,
  Scalar,
  type YAMLMap,
} from "yaml";
import { isMergeKey } from "./positions.ts";
import { parseYaml } from "./source.ts";

/**
 * Returns text with the content of `after`. `before` is the document parsed from `text`. Text changes only where a
 * value changes, so new comments are added only together with new entries.
 */
export function spliceChanges(text: string, before: Document, after: Document): string {
  try {
    const changes = new Changes(text, before);
    changes.compareRoots(before.contents, after.contents);
    const spliced = changes.apply();
    const check = parseYaml(spliced);
    if (check.errors.length === 0 && isDeepStrictEqual(plain(check), plain(after))) return spliced;
  } catch (error) {
    if (!(error instanceof CannotSplice)) throw error;
  }
  return after.toString(printOptions(text));
}

type Splice = { start: number; end: number; text: string };

class Changes {
  readonly #text: string;
  readonly #before: Document;
  readonly #splices: Splice[] = [];

  constructor(text: string, before: Document) {
    this.#text = text;
    this.#before = before;
  }

  compareRoots(before: Node | null, after: Node | null): void {
    if (!isBlockMap(before) || !isBlockMap(after) || after.items.length === 0) throw new CannotSplice();
    this.#compareMaps(before, after);
  }

  apply(): string {
    let text = this.#text;
    // Applied from the end so that earlier offsets stay valid. An insertion goes before the deletion of the text that
    // it follows.
    const ordered = this.#splices.toSorted((a, b) => b.start - a.start || b.end - a.end);
    for (const { start, end, text: replacement } of ordered)
      text = text.slice(0, start) + replacement + text.slice(end);
    return text;
  }

  #compareMaps(before: YAMLMap, after: YAMLMap): void {
    const wanted = byKey(after);
    const existing = byKey(before);
    for (const [key, pair] of existing) {
      const next = wanted.get(key);
      if (next === undefined) this.#remove(pair);
      else this.#comparePairs(pair, next);
    }
    const added = [...wanted].filter(([key]) => !existing.has(key)).map(([, pair]) => pair);
    if (added.length > 0) this.#append(before, added);
  }

  #comparePairs(before: Pair, after: Pair): void {
    const [from, to] = [before.value, after.value];
    if (sameNode(from, to)) return;
    if (isBlockMap(from) && isBlockMap(to) && from.anchor === to.anchor && from.tag === to.tag) {
      if (to.items.length === 0) this.#insertEmptyMap(before);
      this.#compareMaps(from, to);
      return;
    }
    const [start, end] = rangeOf(from) ?? [0, 0];
    if (start === end && isCollection(to) && to.flow !== true && to.items.length > 0) {
      this.#fillPair(before, after);
      return;
    }
    const line = isInline(from) && isInline(to) ? this.#print(withoutComments(to, this.#before)) : null;
    if (line !== null && !line.includes("\n")) this.#replaceInline(before, line);
    else this.#replacePair(before, after);
  }

  #replaceInline(pair: Pair, line: string): void {
    const [start, end] = rangeOf(pair.value) ?? [keyEnd(this.#text, pair), keyEnd(this.#text, pair)];
    const gapBefore = /[\s]/.test(this.#text[start - 1] ?? "") ? "" : " ";
    const gapAfter = start === end && /\S/.test(this.#text[end] ?? "\n") ? " " : "";
    this.#splices.push({ start, end, text: gapBefore + line + gapAfter });
  }

  /** Adds entries below a key that had none and keeps the rest of its line. */
  #fillPair(before: Pair, after: Pair): void {
    const start = this.#ownLineStart(before);
    const copy = copyWithoutTail(before, after, this.#before);
    const [, ...lines] = this.#printPairs([copy], this.#indentAt(start)).split("\n");
    const at = this.#lineEnd(keyEnd(this.#text, before));
    this.#splices.push({ start: at, end: at, text: lines.map((line) => `\n${line}`).join("") });
  }

  #replacePair(before: Pair, after: Pair): void {
    const start = this.#ownLineStart(before);
    const copy = copyWithoutTail(before, after, this.#before);
    const end = this.#lineEnd(contentEnd(before));
    const printed = this.#printPairs([copy], this.#indentAt(start));
    this.#splices.push({ start: this.#lineStart(start), end, text: printed });
  }

  #remove(pair: Pair): void {
    let start = this.#lineStart(this.#ownLineStart(pair));
    let end = this.#pastLine(contentEnd(pair));
    const blankBefore = start === 0 || /\n[ \t]*\n$/.test(this.#text.slice(0, start));
    const blankAfter = /^[ \t]*\n/.exec(this.#text.slice(end));
    if (blankBefore && blankAfter !== null) end += blankAfter[0].length;
    if (end === this.#text.length && !this.#text.endsWith("\n")) start = Math.max(0, start - 1);
    this.#splices.push({ start, end, text: "" });
  }

  /** Appends after the last entry and the comments at its level, such as commented-out entries. */
  #append(map: YAMLMap, pairs: readonly Pair[]): void {
    const last = map.items.at(-1);
    const first = map.items[0];
    if (last === undefined || first === undefined) throw new CannotSplice();
    const indent = this.#indentAt(this.#ownLineStart(first));
    let at = this.#pastLine(contentEnd(last));
    // At the top level, a deeper comment belongs to the entry above it, even after an empty line.
    const comment =
      indent === "" ? /^(#.*(\n|$)|([ \t]*\n)*[ \t]+#.*(\n|$))/ : new RegExp(`^ {${indent.length},}#.*(\n|$)`);
    for (let next = comment.exec(this.#text.slice(at)); next !== null; next = comment.exec(this.#text.slice(at)))
      at += next[0].length;
    const airy = indent === "" && /\n[ \t]*\n(#.*\n)*[^\s#]/.test(this.#text);
    const lead = this.#text.slice(0, at).endsWith("\n") ? "" : "\n";
    const text = pairs.map((pair) => `${airy ? "\n" : ""}${this.#printPairs([pair], indent)}\n`).join("");
    this.#splices.push({ start: at, end: at, text: lead + text });
  }

  /** Keeps the comments in place of the removed entries. */
  #insertEmptyMap(pair: Pair): void {
    const at = keyEnd(this.#text, pair);
    this.#splices.push({ start: at, end: at, text: " {}" });
  }

  #print(node: unknown): string {
    const document = scratch(node);
    return document.toString(printOptions(this.#text)).replace(/\n$/, "");
  }

  #printPairs(pairs: readonly Pair[], indent: string): string {
    const map = new Document({}, { merge: true }).createNode({}) as YAMLMap;
    map.items.push(...pairs);
    return this.#print(map).replace(/^(?=.)/gm, indent);
  }

  #ownLineStart(pair: Pair): number {
    const start = rangeOf(pair.key)?.[0];
    if (start === undefined || this.#text.slice(this.#lineStart(start), start).trim() !== "") throw new CannotSplice();
    return start;
  }

  #indentAt(offset: number): string {
    return this.#text.slice(this.#lineStart(offset), offset);
  }

  #lineStart(offset: number): number {
    return this.#text.lastIndexOf("\n", offset - 1) + 1;
  }

  #lineEnd(offset: number): number {
    // The end of a block scalar is already after its line break.
    if (offset > 0 && this.#text[offset - 1] === "\n") return offset - 1;
    const end = this.#text.indexOf("\n", offset);
    return end === -1 ? this.#text.length : end;
  }

  #pastLine(offset: number): number {
    return Math.min(this.#lineEnd(offset) + 1, this.#text.length);
  }
}

/** The existing layout of the text, as far as the printer supports it. */
function printOptions(text: string) {
  const indent = /^( +)[^\s#-]/m.exec(text)?.[1]?.length ?? 2;
  return {
    lineWidth: 0,
    indent: Math.max(1, indent),
    indentSeq: !/^( *)[^\s#-][^\n]*:[ \t]*\n\1- /m.test(text),
    flowCollectionPadding: !/[[{][^\s\]}]/.test(text) || /[[{] \S/.test(text),
    verifyAliasOrder: false,
  };
}

function scratch(contents: unknown): Document {
  const document = new Document(null, { merge: true, stringKeys: true });
  document.contents = contents as Node;
  return document;
}

function plain(document: Document): unknown {
  try {
    return document.toJS({ maxAliasCount: -1 }) ?? {};
  } catch {
    // An alias lost its anchor. The validation of the printed text reports which one.
    throw new CannotSplice();
  }
}

/** Text after the last line of the old value stays in the file, so the new value must not print it again. */
function copyWithoutTail(before: Pair, after: Pair, document: Document): Pair {
  const copy = after.clone(document.schema);
  let old: unknown = before.value;
  let now: unknown = copy.value;
  while (isCollection(old) && old.flow !== true && isCollection(now)) {
    if (now.comment === old.comment) now.comment = null;
    const index = old.items.length - 1;
    old = valueIn(old.items[index]);
    now = valueIn(now.items[index]);
  }
  if (isScalar(copy.key)) copy.key.commentBefore = null;
  if (isScalar(copy.key)) copy.key.spaceBefore = false;
  return copy;
}

/** The comment beside a value stays in the text. */
function withoutComments(node: unknown, document: Document): unknown {
  if (!isScalar(node) && !isCollection(node)) return node;
  const copy = isScalar(node) ? node.clone() : node.clone(document.schema);
  (copy as Scalar).comment = null;
  (copy as Scalar).commentBefore = null;
  return copy;
}

/** Thrown if the text cannot be changed in place and the whole document must be printed again. */
class CannotSplice extends Error {}

function byKey(map: YAMLMap): Map<string, Pair> {
  const pairs = new Map<string, Pair>();
  for (const pair of map.items) {
    const key = isMergeKey(pair.key) ? "<<" : isScalar(pair.key) ? String(pair.key.value) : String(pair.key);
    if (pairs.has(key)) throw new CannotSplice();
    pairs.set(key, pair);
  }
  return pairs;
}

function sameNode(a: unknown, b: unknown): boolean {
  if (isPair(a) && isPair(b)) return sameNode(a.key, b.key) && sameNode(a.value, b.value);
  if (isAlias(a) && isAlias(b)) return a.source === b.source;
  if (isScalar(a) && isScalar(b)) return keyText(a) === keyText(b) && a.anchor === b.anchor && a.tag === b.tag;
  if ((isMap(a) && isMap(b)) || (isSeq(a) && isSeq(b))) {
    const items: readonly unknown[] = b.items;
    const same = a.items.length === items.length && a.anchor === b.anchor && a.tag === b.tag;
    return same && a.items.every((item: unknown, index: number) => sameNode(item, items[index]));
  }
  return a === b || (isEmpty(a) && isEmpty(b));
}

function keyText(scalar: Scalar): unknown {
  return typeof scalar.value === "symbol" ? scalar.value.description : scalar.value;
}

function isEmpty(node: unknown): boolean {
  return node === null || node === undefined || (isScalar(node) && node.value === null);
}

function isBlockMap(node: unknown): node is YAMLMap {
  return isMap(node) && node.flow !== true;
}

function isInline(node: unknown): boolean {
  if (isScalar(node)) return node.type !== Scalar.BLOCK_LITERAL && node.type !== Scalar.BLOCK_FOLDED;
  return node === null || isAlias(node) || (isCollection(node) && node.flow === true);
}

function valueIn(item: unknown): unknown {
  return isPair(item) ? item.value : item;
}

function rangeOf(node: unknown): [number, number] | null {
  if (!isAlias(node) && !isScalar(node) && !isCollection(node)) return null;
  return node.range ? [node.range[0], node.range[1]] : null;
}

/** The end of the last value inside a node, without the comments and blank lines after it. */
function contentEnd(item: unknown): number {
  const value = valueIn(item);
  if (isCollection(value) && value.flow !== true && value.items.length > 0) return contentEnd(value.items.at(-1));
  const end = rangeOf(value)?.[1] ?? (isPair(item) ? rangeOf(item.key)?.[1] : undefined);
  if (end === undefined) throw new CannotSplice();
  return end;
}

/** The position after the colon. */
function keyEnd(text: string, pair: Pair): number {
  const end = rangeOf(pair.key)?.[1];
  const colon = end === undefined ? -1 : text.indexOf(":", end);
  if (end === undefined || text.slice(end, colon).trim() !== "") throw new CannotSplice();
  return colon + 1;
}
