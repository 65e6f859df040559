/**
 * Limits what a YAML document expands to when its aliases are resolved. Cyclic and exponentially growing documents are
 * refused.
 */
import { type Alias, isAlias, isCollection, isPair, isScalar, type Node } from "yaml";

/** A configuration with a hundred agents that share a few anchors stays far below this limit. */
export const maxNodes = 100_000;
export const maxAliases = 1000;

/** Returns the node that makes the content unusable, or null if the document can be converted to plain data. */
export function findExpansionFault(contents: unknown): { node: Node | null; message: string } | null {
  try {
    new Measure().size(contents);
    return null;
  } catch (error) {
    if (error instanceof Fault) return { node: error.node, message: error.message };
    if (error instanceof RangeError) return { node: null, message: tooDeep };
    throw error;
  }
}

export const tooDeep = "expected a flat file, found values nested too deeply";

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
