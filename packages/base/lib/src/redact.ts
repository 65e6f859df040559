/** Removes known secrets from text before it is written to disk or sent to a client. */
export type Redact = (text: string) => string;

/**
 * The form of secrets that are too many to list: a prefix, followed by `count` characters of a class such as `[\w-]`.
 */
export type SecretForm = { lead: string; class: string; count: number };

export type Redactor = {
  redact: Redact;
  /**
   * Returns the index where a possible start of a secret begins at the end of the text, or the text's length if there
   * is none.
   */
  openEnd: (text: string) => number;
};

/** Redacting shorter values would remove ordinary words. */
const shortestSecret = 8;
const replacement = "[redacted]";

export function createRedactor(secrets: Iterable<string>, forms: readonly SecretForm[] = []): Redact {
  return buildRedactor(secrets, forms).redact;
}

export function buildRedactor(secrets: Iterable<string>, forms: readonly SecretForm[] = []): Redactor {
  const values = [...new Set([...secrets].flatMap(formsOf))].filter((value) => value.length >= shortestSecret);
  if (values.length + forms.length === 0) return { redact: (text) => text, openEnd: (text) => text.length };
  // Longest first, so that a secret that contains another is removed as a whole.
  values.sort((a, b) => b.length - a.length);
  const pattern = new RegExp([...forms.map(formPattern), ...values.map(escapePattern)].join("|"), "g");
  const begins = [...forms.map(formBeginning), ...values.map(valueBeginning)];
  const longest = Math.max(values[0]?.length ?? 0, ...forms.map(({ lead, count }) => lead.length + count));
  return {
    redact: (text) => text.replace(pattern, replacement),
    openEnd(text) {
      const firstOpen = (from: number) => {
        for (let at = Math.max(from, text.length - longest + 1); at < text.length; at++)
          if (begins.some((isBeginning) => isBeginning(text, at))) return at;
        return text.length;
      };
      let open = firstOpen(0);
      pattern.lastIndex = 0;
      // A complete secret that starts earlier and extends beyond `open` is already matched. Only the text after it
      // counts.
      for (let match = pattern.exec(text); match !== null && match.index < open; match = pattern.exec(text))
        if (pattern.lastIndex > open) open = firstOpen(pattern.lastIndex);
      return open;
    },
  };
}

/**
 * Redacts text that arrives in arbitrary chunks. The concatenated output equals `redact` of the whole text. A possible
 * start of a secret at the end of a chunk is held back until the next chunk.
 */
export class RedactedStream {
  readonly #redactor: () => Redactor;
  #waiting = "";

  /** `redactor` is called for each chunk, because secrets may become known while text streams. */
  constructor(redactor: () => Redactor) {
    this.#redactor = redactor;
  }

  /** Returns the text that can be shown now. */
  push(text: string): string {
    const { redact, openEnd } = this.#redactor();
    const all = this.#waiting + text;
    const end = openEnd(all);
    this.#waiting = all.slice(end);
    return redact(all.slice(0, end));
  }

  /** Returns the text that was held back, when no more text follows. */
  flush(): string {
    const rest = this.#waiting;
    this.#waiting = "";
    return this.#redactor().redact(rest);
  }
}

/** Serializes to one JSON line with its newline. Every string in it is redacted. */
export function redactedLine(value: unknown, redact: Redact): string {
  const line = JSON.stringify(value);
  return `${redact(line) === line ? line : JSON.stringify(redactedPart(value, redact))}\n`;
}

/**
 * Returns the JSON value without known secrets, or the same value if it contains none. Only strings change, because a
 * secret of digits must not corrupt a number. Field names change too, unless they look like field names of the
 * contract.
 */
export function redacted<T>(value: T, redact: Redact): T {
  if (typeof value === "object" && value !== null) {
    // Almost no value contains a secret, and one search of its text takes half the time of one per string.
    const text = JSON.stringify(value);
    if (redact(text) === text) return value;
  }
  return redactedPart(value, redact) as T;
}

/** Contract fields consist of these characters only. A secret contains others, or it is too common to redact. */
const fieldName = /^[a-z_]*$/;

function redactedPart(value: unknown, redact: Redact): unknown {
  if (typeof value === "string") return redact(value);
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) {
    const parts = value.map((part: unknown) => redactedPart(part, redact));
    return parts.some((part, at) => part !== value[at]) ? parts : value;
  }
  if ("toJSON" in value && typeof value.toJSON === "function") return redactedPart(value.toJSON(), redact);
  let found = false;
  const entries = Object.entries(value).map(([key, part]) => {
    const clean = [fieldName.test(key) ? key : redact(key), redactedPart(part, redact)] as const;
    found ||= clean[0] !== key || clean[1] !== part;
    return clean;
  });
  return found ? Object.fromEntries(entries) : value;
}

/**
 * A value with quotes, backslashes or control characters has a different form inside JSON, and a third one in JSON that
 * is itself a string of JSON, such as the input of a tool in an event.
 */
function formsOf(secret: string): string[] {
  const inJson = (text: string) => JSON.stringify(text).slice(1, -1);
  return [secret, inJson(secret), inJson(inJson(secret))];
}

type IsBeginning = (text: string, at: number) => boolean;

function valueBeginning(value: string): IsBeginning {
  return (text, at) => text.length - at < value.length && value.startsWith(text.slice(at));
}

function formBeginning({ lead, class: characters, count }: SecretForm): IsBeginning {
  const body = new RegExp(`^${characters}*$`);
  return (text, at) => {
    const rest = text.slice(at);
    if (rest.length >= lead.length + count) return false;
    return lead.startsWith(rest) || (rest.startsWith(lead) && body.test(rest.slice(lead.length)));
  };
}

function formPattern({ lead, class: characters, count }: SecretForm): string {
  return `${escapePattern(lead)}${characters}{${count}}`;
}

function escapePattern(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
}
