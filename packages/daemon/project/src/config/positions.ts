/** Maps key paths to text positions in a parsed file, and positions back to key paths. */
import { type Document, isAlias, isCollection, isMap, isPair, isScalar, isSeq } from "yaml";
import type { KeyPath } from "./problem.ts";

/**
 * Finds `path`, or its nearest existing ancestor, from the top of the file. `depth` is the number of path parts that
 * were found. Follows aliases and merge keys to the place where the value is written.
 */
export function locate(document: Document, path: KeyPath): { depth: number; key: number; value: number } {
  let node: unknown = document.contents;
  let place = { depth: 0, key: offsetOf(node) ?? 0, value: offsetOf(node) ?? 0 };
  for (const [index, segment] of path.entries()) {
    const child = childOf(document, node, segment);
    if (child === null) return place;
    const key = offsetOf(child.key) ?? offsetOf(child.value) ?? place.key;
    place = { depth: index + 1, key, value: offsetOf(child.value) ?? key };
    node = child.value;
  }
  return place;
}

/** The key path at a text position, as far as the document can be parsed. */
export function pathAt(contents: unknown, offset: number): KeyPath {
  const path: (string | number)[] = [];
  let node: unknown = contents;
  while (isCollection(node) && path.length < longestPath) {
    const items: readonly unknown[] = node.items;
    const index = items.findLastIndex((item) => (offsetOf(isPair(item) ? item.key : item) ?? offset + 1) <= offset);
    if (index === -1) break;
    const item = items[index];
    path.push(isPair(item) ? (isScalar(item.key) ? String(item.key.value) : "?") : index);
    node = isPair(item) ? item.value : item;
  }
  return path;
}

const longestPath = 32;

function childOf(
  document: Document,
  parent: unknown,
  segment: string | number,
): { key: unknown; value: unknown } | null {
  const node = isAlias(parent) ? parent.resolve(document) : parent;
  if (isSeq(node)) {
    const value = node.items[Number(segment)];
    return value === undefined ? null : { key: value, value };
  }
  if (!isMap(node)) return null;
  for (const { key, value } of node.items)
    if (isScalar(key) && String(key.value) === String(segment)) return { key, value };
  for (const { key, value } of node.items) {
    if (!isMergeKey(key)) continue;
    const merged = isAlias(value) ? value.resolve(document) : value;
    for (const from of isSeq(merged) ? merged.items : [merged]) {
      const found = childOf(document, from, segment);
      if (found !== null) return found;
    }
  }
  return null;
}

export function isMergeKey(key: unknown): boolean {
  if (!isScalar(key)) return false;
  return key.value === "<<" || (typeof key.value === "symbol" && key.value.description === "<<");
}

export function offsetOf(node: unknown): number | null {
  return isAlias(node) || isScalar(node) || isCollection(node) ? (node.range?.[0] ?? null) : null;
}
