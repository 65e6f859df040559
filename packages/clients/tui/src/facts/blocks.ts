/**
 * Cuts Markdown into blocks that no later text can change: after a blank line outside a fence. A client that renders
 * block by block parses only the tail of a growing text, and only the visible part of a long one.
 */

/** Longer blocks are cut, so that one paragraph without a break stays affordable. */
const longestBlock = 16_000;
/** Outside a fence a block may end at any line break, because lists and paragraphs look the same when they are cut. */
const longestParagraph = 1_500;
const longestLine = 4_000;

export function splitBlocks(text: string): string[] {
  const blocks: string[] = [];
  let fence: string | null = null;
  let from = 0;
  let at = 0;
  while (at < text.length) {
    const found = text.indexOf("\n", at);
    const end = found === -1 ? text.length : found;
    const line = text.slice(at, Math.min(end, at + 200));
    const mark = /^ {0,3}(`{3,}|~{3,})/.exec(line)?.[1];
    if (mark !== undefined && fence === null) fence = mark;
    else if (mark !== undefined && fence !== null && mark[0] === fence[0] && mark.length >= fence.length) fence = null;
    const isBlank = fence === null && end - at < 200 && line.trim() === "" && found !== -1;
    at = found === -1 ? text.length : found + 1;
    // A table without its head would not be one.
    const isSplittable = fence === null && !line.startsWith("|");
    const isLong = at - from > (isSplittable ? longestParagraph : longestBlock);
    if ((isBlank && at > from + 1) || isLong) {
      blocks.push(text.slice(from, at));
      from = at;
    }
  }
  if (from < text.length) blocks.push(text.slice(from));
  return blocks.filter((block) => block.trim() !== "");
}

/** The block with long lines cut and the rest counted, so that measuring it is quick. */
export function boundBlock(block: string): string {
  if (block.length <= longestLine) return block;
  const lines = block.slice(0, longestBlock).split("\n");
  const cut = lines.map((line) =>
    line.length <= longestLine ? line : `${line.slice(0, longestLine)} … ${line.length - longestLine} more characters`,
  );
  const left = block.length - longestBlock;
  return left <= 0 ? cut.join("\n") : `${cut.join("\n")}\n… ${left} more characters`;
}
