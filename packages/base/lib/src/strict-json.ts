/** Checks strictly that a value is JSON, so that serialization does not silently change it. */

/**
 * Returns the JSON of the value, or undefined for undefined. Throws a `TypeError` with the path of a value that is not
 * JSON.
 */
export function toJson(value: unknown, what: string): string | undefined {
  if (value === undefined) return undefined;
  checkJson(value, what);
  return JSON.stringify(value);
}

/** Throws a `TypeError` with the path of a value that is not JSON. */
export function checkJson(value: unknown, what: string): void {
  check(value, what, new Set());
}

export function isPlain(value: unknown): value is Record<string, unknown> {
  if (typeof value !== "object" || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

function check(value: unknown, path: string, above: Set<unknown>): void {
  if (value === null || typeof value === "string" || typeof value === "boolean") return;
  if (typeof value === "number") {
    if (Number.isFinite(value)) return;
    throw notJson(path, String(value));
  }
  if (Array.isArray(value)) {
    within(value, path, above, () => {
      for (const [index, item] of value.entries()) check(item, `${path}[${index}]`, above);
    });
    return;
  }
  if (isPlain(value)) {
    within(value, path, above, () => {
      // An undefined property is omitted, as in `JSON.stringify`.
      for (const [key, item] of Object.entries(value)) if (item !== undefined) check(item, `${path}.${key}`, above);
    });
    return;
  }
  throw notJson(path, describe(value));
}

function within(value: object, path: string, above: Set<unknown>, look: () => void): void {
  if (above.has(value)) throw notJson(path, "a circle");
  above.add(value);
  look();
  above.delete(value);
}

function describe(value: unknown): string {
  if (typeof value === "object" && value !== null) {
    const { name } = value.constructor;
    return `${/^[aeiou]/i.test(name) ? "an" : "a"} ${name}`;
  }
  return value === undefined ? "undefined" : `a ${typeof value}`;
}

function notJson(path: string, found: string): TypeError {
  return new TypeError(
    `${path} is ${found}: expected JSON (text, numbers, true, false, null, lists and plain objects)`,
  );
}
