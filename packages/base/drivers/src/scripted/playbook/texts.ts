/**
 * The two kinds of text in a playbook: patterns that match a message, and templates with `{name}` placeholders. `{1}` is
 * a capture, `{text}` is available in every rule, `{files.summary}` is a saved result.
 */

/** The captures, with the whole match first; null if it does not match. */
export type Pattern = (text: string) => readonly string[] | null;

const expression = /^\/(.+)\/([a-z]*)$/s;

/** Throws `SyntaxError` for an invalid expression. Ignores case unless an expression has its own flags. */
export function compilePattern(source: string): Pattern {
  if (source === "always") return (text) => [text];
  const [, body, flags] = expression.exec(source) ?? [];
  if (body !== undefined) {
    const compiled = new RegExp(body, flags === "" ? "i" : flags);
    return (text) => {
      // A sticky or global expression would continue from its last match.
      compiled.lastIndex = 0;
      return compiled.exec(text)?.map((capture) => capture ?? "") ?? null;
    };
  }
  const words = source.toLowerCase();
  return (text) => (text.toLowerCase().includes(words) ? [source] : null);
}

export type Values = Readonly<Record<string, string>>;

const place = /\{\{|\}\}|\{([a-z0-9_]+)(?:\.([a-z]+))?\}/g;

/** The views that may follow the dot of a saved result. */
const views: Record<string, (value: string) => string> = {
  /** Tools put the summary into their first line. */
  summary: (value) => value.split("\n", 1)[0] ?? "",
  rest: (value) => value.split("\n").slice(1).join("\n"),
  head: (value) => value.split("\n").slice(0, headLines).join("\n"),
  list: readableJson,
  id: idOf,
};
const headLines = 12;

/** The placeholders of a template, for validation when a playbook is read. */
export function placesIn(template: string): { name: string; view: string | null }[] {
  return [...template.matchAll(place)].flatMap(([, name, view]) =>
    name === undefined ? [] : [{ name, view: view ?? null }],
  );
}

export const viewNames: readonly string[] = Object.keys(views);

/** `{{` and `}}` are literal braces. A capture that did not participate is empty. */
export function render(template: string, values: Values): string {
  return template.replace(place, (whole, name: string | undefined, view: string | undefined) => {
    if (name === undefined) return whole.slice(1);
    const value = values[name] ?? "";
    return view === undefined ? value : (views[view]?.(value) ?? value);
  });
}

/** Renders every string inside a tool's input. */
export function renderDeep(value: unknown, values: Values): unknown {
  if (typeof value === "string") return render(value, values);
  if (Array.isArray(value)) return value.map((item) => renderDeep(item, values));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, renderDeep(item, values)]));
}

/** Formats JSON for people; returns any other text unchanged. */
function readableJson(text: string): string {
  const value = parsed(text);
  if (value === undefined) return text;
  return (Array.isArray(value) ? value : [value]).map((item) => `- ${readableItem(item)}`).join("\n");
}

/** The id in the result of a tool, as in `{"broadcast_id": "brd_…"}`; empty if there is none. */
function idOf(text: string): string {
  const value = parsed(text);
  const entries = typeof value === "object" && value !== null ? Object.entries(value) : [];
  const id = entries.find(([key]) => /^(\w+_)?id$/.test(key))?.[1];
  return typeof id === "string" ? id : "";
}

/** Undefined for a text that is not JSON. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function readableItem(item: unknown): string {
  if (typeof item !== "object" || item === null) return String(item);
  return Object.entries(item)
    .filter(([, value]) => value !== "" && value !== null)
    .map(([key, value]) => `${key} ${typeof value === "string" ? value : JSON.stringify(value)}`)
    .join(", ");
}
