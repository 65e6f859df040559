/** Splits long texts at boundaries, for every channel. Offsets count UTF-16 units, as in JavaScript. */

export type Span = { offset: number; length: number };
/** A marked range of a text. The type `pre` is a block of code. */
type AnyMark = Span & { type: string };
export type MarkedText<Mark extends AnyMark> = { text: string; entities: Mark[] };

/**
 * Splits Markdown into parts that are Markdown themselves: a block of code that is cut is closed in one part and opened
 * again in the next.
 */
export function splitMarkdown(markdown: string, limit: number): string[] {
  const text = markdown.toWellFormed().replace(/\r\n?/g, "\n");
  const blocks = [...text.matchAll(/^ {0,3}(`{3,}|~{3,})([^\n]*)\n[\s\S]*?(?:\n {0,3}\1[^\n]*$|$(?![\s\S]))/gm)].map(
    ({ 0: whole, 1: fence = "```", 2: info = "", index }) =>
      ({ type: "pre", offset: index, length: whole.length, fence, info, end: index + whole.length }) as const,
  );
  const longestFence = Math.max(0, ...blocks.map(({ fence, info }) => 2 * fence.length + info.length + 3));
  let from = 0;
  return splitMarked({ text, entities: blocks }, Math.max(Math.floor(limit / 2), limit - longestFence)).map((part) => {
    const start = text.indexOf(part.text, from);
    const end = start + part.text.length;
    from = end;
    const inside = (at: number) => blocks.find((block) => at > block.offset && at < block.end);
    const [opened, cut] = [inside(start), inside(end)];
    const head = opened === undefined ? "" : `${opened.fence}${opened.info}\n`;
    const tail = cut === undefined ? "" : `${part.text.endsWith("\n") ? "" : "\n"}${cut.fence}`;
    return `${head}${part.text}${tail}`;
  });
}

/** Cuts at a blank line, else at a line, else at a space. A code block that fits stays whole. */
export function splitMarked<Mark extends AnyMark>(
  { text, entities }: MarkedText<Mark>,
  limit: number,
): MarkedText<Mark>[] {
  const parts: MarkedText<Mark>[] = [];
  for (let from = 0; from < text.length; ) {
    const to = text.length - from <= limit ? text.length : borderIn(text, entities, from, limit);
    const piece = text.slice(from, to);
    // Services refuse a message of blanks only.
    if (piece.trim() !== "") parts.push({ text: piece, entities: within(entities, from, to) });
    from = to;
  }
  return parts;
}

function borderIn(text: string, entities: readonly AnyMark[], from: number, limit: number): number {
  const end = from + limit;
  const least = Math.floor(limit / 2);
  const isCode = ({ type }: AnyMark) => type === "pre";
  const inCode = (at: number) => entities.some((one) => isCode(one) && at > one.offset && at < one.offset + one.length);
  const block = entities.find(
    (one) =>
      isCode(one) &&
      one.offset > from + least &&
      one.offset < end &&
      one.offset + one.length > end &&
      one.length <= limit,
  );
  if (block !== undefined) return block.offset;
  const window = text.slice(from, end);
  const paragraph = window.lastIndexOf("\n\n");
  if (paragraph > least && !inCode(from + paragraph)) return from + paragraph + 2;
  const line = window.lastIndexOf("\n");
  if (line > least) return from + line + 1;
  const space = window.lastIndexOf(" ");
  if (space > least) return from + space + 1;
  return isInsidePair(text, end) ? end - 1 : end;
}

function isInsidePair(text: string, at: number): boolean {
  return /[\ud800-\udbff]/.test(text.charAt(at - 1)) && /[\udc00-\udfff]/.test(text.charAt(at));
}

function within<Mark extends AnyMark>(entities: readonly Mark[], from: number, to: number): Mark[] {
  return entities.flatMap((one) => {
    const start = Math.max(one.offset, from);
    const end = Math.min(one.offset + one.length, to);
    return end > start ? [{ ...one, offset: start - from, length: end - start }] : [];
  });
}
