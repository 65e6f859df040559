/** Sets and removes single values in a config document by key path. */

import { AegisError } from "@aegis/contract/errors.ts";
import { type Document, isAlias, isMap, isScalar, isSeq, type ParsedNode } from "yaml";
import { formatPath, type KeyPath } from "./problem.ts";
import { parseYaml } from "./source.ts";

/** Splits `agents.dev.model` into its parts. Throws `invalid` if a part is empty. */
export function parsePath(text: string): KeyPath {
  const parts = text.split(".");
  if (parts.some((part) => part === ""))
    throw new AegisError("invalid", `expected keys joined by dots, as in agents.dev.model, found "${text}"`);
  return parts;
}

/** Parses a value that a person typed as YAML, so `3`, `true` and `[a, b]` have the expected types. */
export function parseValue(text: string): unknown {
  const document = parseYaml(text);
  const [error] = document.errors;
  if (error !== undefined)
    throw new AegisError("invalid", `expected a YAML value, found ${JSON.stringify(text)}: ${error.message}`, {
      hint: "put text with special characters in double quotes inside the quotes of the shell",
    });
  return document.toJS({ maxAliasCount: 0 });
}

/** Creates missing parent maps. An existing value keeps the comment beside it. */
export function setPath(document: Document, path: KeyPath, value: unknown): void {
  if (path.length === 0) {
    document.contents = document.createNode(value) as unknown as ParsedNode;
    return;
  }
  prepareParents(document, path);
  const existing = document.getIn(path, true);
  if (isScalar(existing) && (value === null || typeof value !== "object")) existing.value = value;
  else document.setIn(path, document.createNode(value));
}

/** Returns false if the path does not exist. */
export function removePath(document: Document, path: KeyPath): boolean {
  refuseAliases(document, path);
  return document.hasIn(path) && document.deleteIn(path);
}

/** An empty file and a key without a value count as empty maps. */
function prepareParents(document: Document, path: KeyPath): void {
  refuseAliases(document, path);
  if (document.contents === null || (isScalar(document.contents) && document.contents.value === null))
    document.contents = document.createNode({}) as unknown as ParsedNode;
  for (let length = 1; length < path.length; length++) {
    const parent = path.slice(0, length);
    const node = document.getIn(parent, true);
    if (node === undefined || node === null || (isScalar(node) && node.value === null))
      document.setIn(parent, document.createNode({}));
    else if (isScalar(node))
      throw new AegisError("invalid", `expected a map at ${formatPath(parent)}, found ${JSON.stringify(node.value)}`);
  }
}

/** An alias shares its value with another entry, so an edit here would change that entry too. */
function refuseAliases(document: Document, path: KeyPath): void {
  let node: unknown = document.contents;
  for (const [index, segment] of path.entries()) {
    if (isAlias(node))
      throw new AegisError("invalid", `${formatPath(path.slice(0, index))} is the alias *${node.source}`, {
        hint: "edit the entry it names, or write the entry out in full",
      });
    node = isMap(node) || isSeq(node) ? node.get(segment, true) : undefined;
  }
}
