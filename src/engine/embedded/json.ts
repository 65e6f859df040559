/** What can be written down: checked strictly, so that nothing changes silently on the way. */
import { hash } from "node:crypto";

/** JSON of the value, or undefined for none. Throws `TypeError` that names the place which is not JSON. */
export function toJson(value: unknown, what: string): string | undefined {
  if (value === undefined) return undefined;
  check(value, what, new Set());
  return JSON.stringify(value);
}

/** The same text for the same value, whatever the order of its keys. */
export function canonical(value: unknown, what: string): string {
  if (value === undefined) return "null";
  check(value, what, new Set());
  return JSON.stringify(value, (_key, item: unknown) => (isPlain(item) ? sorted(item) : item));
}

export function digest(text: string): string {
  return hash("sha256", text).slice(0, 32);
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
      // A key without a value is left out, as everywhere in JSON.
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

function isPlain(value: unknown): value is Record<string, unknown> {
  if (typeof value !== "object" || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

function sorted(value: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
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
