/** Finds duplicate keys in maps. The check in the YAML library is quadratic and slow on large files. */

import type { Document } from "yaml";
import { isMap, isScalar, type Scalar, visit } from "yaml";
import { isMergeKey } from "./positions.ts";

export type Duplicate = { first: Scalar; again: Scalar };

export function findDuplicates(document: Document): Duplicate[] {
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
