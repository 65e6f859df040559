/** Expands `${NAME}` in a text to the value of a variable; `$${` stands for a literal `${`. */
import type { Environment } from "./child-env.ts";

const reference = /\$\$\{|\$\{([^}]*)\}?/g;
const variableName = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** Variables whose values are not secret and occur in ordinary output. */
const ordinary = /^(?:HOME|PATH|PWD|USER|LOGNAME|SHELL|LANG|LC_\w+|TERM|TZ|TMPDIR|EDITOR|XDG_\w+)$/;

export type ExpandedText = { text: string; missing: string[] };

/** Unset and empty variables are listed in `missing` and stay unexpanded. */
export function expandVariables(text: string, env: Environment): ExpandedText {
  const missing: string[] = [];
  const expanded = text.replace(reference, (written: string, name: string | undefined) => {
    if (name === undefined) return "${";
    const value = env[name];
    if (value !== undefined && value !== "") return value;
    missing.push(name);
    return written;
  });
  return { text: expanded, missing };
}

/** Returns the distinct names of the variables in a text, or in all strings of a map or list. */
export function variablesIn(value: unknown): string[] {
  const names = new Set<string>();
  eachText(value, (text) => {
    for (const [, name] of text.matchAll(reference)) if (name !== undefined) names.add(name);
  });
  return [...names];
}

/** Returns the name of the variable if the text is nothing but a reference to it, else null. */
export function soleVariable(text: string): string | null {
  return /^\$\{([A-Za-z_][A-Za-z0-9_]*)\}$/.exec(text)?.[1] ?? null;
}

/** Returns what is wrong with the references in a text, or null if they are valid. */
export function referenceFault(text: string): string | null {
  for (const [written, name] of text.matchAll(reference)) {
    if (name === undefined || (variableName.test(name) && written.endsWith("}"))) continue;
    return `expected the name of a variable in \${…}, found ${JSON.stringify(written)}; write $\${ for a plain \${`;
  }
  return null;
}

/** Returns whether the value of a variable must be redacted once a setting uses it. */
export function isKeptSecret(name: string): boolean {
  return !ordinary.test(name);
}

/** Returns the same value with every string replaced. */
export function mapTexts(value: unknown, change: (text: string) => string): unknown {
  if (typeof value === "string") return change(value);
  if (Array.isArray(value)) return value.map((item) => mapTexts(item, change));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, mapTexts(item, change)]));
}

function eachText(value: unknown, visit: (text: string) => void): void {
  mapTexts(value, (text) => {
    visit(text);
    return text;
  });
}
