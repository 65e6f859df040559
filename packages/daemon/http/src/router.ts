/** Finds the entry of a request among paths with parameters, such as `/v1/sessions/:session`. */

export type FoundEntry<T> =
  | { kind: "entry"; entry: T; parameters: Record<string, string> }
  /** The path exists, and takes these methods. */
  | { kind: "wrong method"; methods: string[] }
  | { kind: "unknown" };

type Entry<T> = { value: T; names: readonly string[] };

type Segment<T> = {
  /** Fixed words come before the parameter. */
  words: Map<string, Segment<T>>;
  parameter: Segment<T> | null;
  methods: Map<string, Entry<T>>;
};

export class Router<T> {
  readonly #root: Segment<T> = emptySegment();

  add(method: string, path: string, value: T): void {
    const names: string[] = [];
    let at = this.#root;
    for (const word of path.split("/")) {
      if (word.startsWith(":")) {
        names.push(word.slice(1));
        at.parameter ??= emptySegment();
        at = at.parameter;
      } else {
        const next = at.words.get(word) ?? emptySegment();
        at.words.set(word, next);
        at = next;
      }
    }
    at.methods.set(method, { value, names });
  }

  /** `path` is as sent: each segment is decoded by itself, so an encoded slash is part of a parameter. */
  find(method: string, path: string): FoundEntry<T> {
    const values: string[] = [];
    const segment = walk(this.#root, path.split("/").map(decoded), 0, values);
    if (segment === null) return { kind: "unknown" };
    const entry = segment.methods.get(method === "HEAD" ? "GET" : method);
    if (entry === undefined) return { kind: "wrong method", methods: methodsOf(segment) };
    const parameters = Object.fromEntries(entry.names.map((name, index) => [name, values[index] ?? ""]));
    return { kind: "entry", entry: entry.value, parameters };
  }
}

/** Adds the values of the parameters to `values`. A parameter is not empty. */
function walk<T>(from: Segment<T>, words: readonly string[], index: number, values: string[]): Segment<T> | null {
  const word = words[index];
  if (word === undefined) return from.methods.size === 0 ? null : from;
  const fixed = from.words.get(word);
  const found = fixed === undefined ? null : walk(fixed, words, index + 1, values);
  if (found !== null || from.parameter === null || word === "") return found;
  values.push(word);
  const end = walk(from.parameter, words, index + 1, values);
  if (end === null) values.pop();
  return end;
}

function methodsOf<T>({ methods }: Segment<T>): string[] {
  return [...methods.keys()].flatMap((method) => (method === "GET" ? ["GET", "HEAD"] : [method]));
}

/** A segment that is not valid percent-encoding stands for itself. */
function decoded(segment: string): string {
  if (!segment.includes("%")) return segment;
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

function emptySegment<T>(): Segment<T> {
  return { words: new Map(), parameter: null, methods: new Map() };
}
