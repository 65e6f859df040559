/** The patterns of a rule's `when`: `always`, `/a regular expression/`, or words that occur in the text. */

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
