/** Removes known secret values from text on its way to disk or to a client. */
export type Redact = (text: string) => string;

/** Shorter values would blank ordinary words. */
const shortestSecret = 8;

/** `forms` are the looks of secrets that are too many to list. */
export function createRedactor(secrets: Iterable<string>, forms: readonly RegExp[] = []): Redact {
  const values = [...new Set(secrets)].filter((value) => value.length >= shortestSecret);
  if (values.length + forms.length === 0) return (text) => text;
  // The longest first, so that a secret that contains another is removed whole.
  values.sort((a, b) => b.length - a.length);
  const pattern = new RegExp([...forms.map((form) => form.source), ...values.map(escapePattern)].join("|"), "g");
  return (text) => text.replace(pattern, "[redacted]");
}

/** JSON on one line, with its end; every text within is redacted. */
export function redactedLine(value: unknown, redact: Redact): string {
  return `${JSON.stringify(value, (_key, part: unknown) => (typeof part === "string" ? redact(part) : part))}\n`;
}

function escapePattern(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
}
