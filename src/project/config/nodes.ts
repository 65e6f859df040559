/** Reads values and text positions from the nodes of a parsed YAML document, for edits of the text itself. */
import { isAlias, isCollection, isMap, isPair, isScalar, isSeq, type Pair, Scalar, type YAMLMap } from "yaml";
import { isMergeKey } from "./positions.ts";

/** Thrown if the text cannot be changed in place and the whole document must be printed again. */
export class CannotSplice extends Error {}

export function byKey(map: YAMLMap): Map<string, Pair> {
  const pairs = new Map<string, Pair>();
  for (const pair of map.items) {
    const key = isMergeKey(pair.key) ? "<<" : isScalar(pair.key) ? String(pair.key.value) : String(pair.key);
    if (pairs.has(key)) throw new CannotSplice();
    pairs.set(key, pair);
  }
  return pairs;
}

export function sameNode(a: unknown, b: unknown): boolean {
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

export function isBlockMap(node: unknown): node is YAMLMap {
  return isMap(node) && node.flow !== true;
}

export function isInline(node: unknown): boolean {
  if (isScalar(node)) return node.type !== Scalar.BLOCK_LITERAL && node.type !== Scalar.BLOCK_FOLDED;
  return node === null || isAlias(node) || (isCollection(node) && node.flow === true);
}

export function valueIn(item: unknown): unknown {
  return isPair(item) ? item.value : item;
}

export function rangeOf(node: unknown): [number, number] | null {
  if (!isAlias(node) && !isScalar(node) && !isCollection(node)) return null;
  return node.range ? [node.range[0], node.range[1]] : null;
}

/** The end of the last value inside a node, without the comments and blank lines after it. */
export function contentEnd(item: unknown): number {
  const value = valueIn(item);
  if (isCollection(value) && value.flow !== true && value.items.length > 0) return contentEnd(value.items.at(-1));
  const end = rangeOf(value)?.[1] ?? (isPair(item) ? rangeOf(item.key)?.[1] : undefined);
  if (end === undefined) throw new CannotSplice();
  return end;
}

/** The position after the colon. */
export function keyEnd(text: string, pair: Pair): number {
  const end = rangeOf(pair.key)?.[1];
  const colon = end === undefined ? -1 : text.indexOf(":", end);
  if (end === undefined || text.slice(end, colon).trim() !== "") throw new CannotSplice();
  return colon + 1;
}
