/** The difference between two texts in the format of `diff -u`. */

const context = 3;
/**
 * The size limit of the table that finds the shortest diff. Larger texts are shown as fully replaced, which is longer
 * but still correct.
 */
const mostCells = 4_000_000;

type Line = { sign: " " | "-" | "+"; text: string };

export function unifiedDiff(before: string | null, after: string | null): string[] {
  const [old, fresh] = [linesOf(before), linesOf(after)];
  const isCutAlike = isOpen(before) === isOpen(after) || old.length === 0 || fresh.length === 0;
  if (!isCutAlike) markEnd(isOpen(before) ? old : fresh);
  return hunks(difference(old, fresh));
}

function linesOf(text: string | null): string[] {
  if (text === null || text === "") return [];
  return (text.endsWith("\n") ? text.slice(0, -1) : text).split("\n");
}

function isOpen(text: string | null): boolean {
  return text !== null && text !== "" && !text.endsWith("\n");
}

function markEnd(lines: string[]): void {
  lines.push(`${lines.pop() ?? ""} [no line break at the end]`);
}

function difference(old: readonly string[], fresh: readonly string[]): Line[] {
  let start = 0;
  while (start < old.length && start < fresh.length && old[start] === fresh[start]) start += 1;
  let end = 0;
  while (end < old.length - start && end < fresh.length - start && old.at(-1 - end) === fresh.at(-1 - end)) end += 1;
  const signed = (sign: Line["sign"], lines: readonly string[]) => lines.map((text): Line => ({ sign, text }));
  const [left, right] = [old.slice(start, old.length - end), fresh.slice(start, fresh.length - end)];
  const middle =
    left.length * right.length > mostCells ? [...signed("-", left), ...signed("+", right)] : longestCommon(left, right);
  return [...signed(" ", old.slice(0, start)), ...middle, ...signed(" ", old.slice(old.length - end))];
}

/** Keeps the longest common subsequence of lines. */
function longestCommon(left: readonly string[], right: readonly string[]): Line[] {
  const width = right.length + 1;
  const table = new Uint32Array((left.length + 1) * width);
  const at = (row: number, column: number) => table[row * width + column] ?? 0;
  for (let row = left.length - 1; row >= 0; row--)
    for (let column = right.length - 1; column >= 0; column--)
      table[row * width + column] =
        left[row] === right[column] ? at(row + 1, column + 1) + 1 : Math.max(at(row + 1, column), at(row, column + 1));
  const lines: Line[] = [];
  let [row, column] = [0, 0];
  while (row < left.length || column < right.length) {
    const [gone, come] = [left[row], right[column]];
    if (gone !== undefined && gone === come) {
      lines.push({ sign: " ", text: gone });
      row += 1;
      column += 1;
    } else if (come === undefined || (gone !== undefined && at(row + 1, column) >= at(row, column + 1))) {
      lines.push({ sign: "-", text: gone ?? "" });
      row += 1;
    } else {
      lines.push({ sign: "+", text: come });
      column += 1;
    }
  }
  return lines;
}

function hunks(lines: readonly Line[]): string[] {
  const isNear = (index: number) =>
    lines.slice(Math.max(0, index - context), index + context + 1).some(({ sign }) => sign !== " ");
  const shown: string[] = [];
  const place = { "-": 1, "+": 1 };
  let isGap = true;
  for (const [index, { sign, text }] of lines.entries()) {
    const near = sign !== " " || isNear(index);
    if (near && isGap) shown.push(`@@ -${place["-"]} +${place["+"]} @@`);
    if (near) shown.push(`${sign}${text}`);
    isGap = !near;
    if (sign !== "+") place["-"] += 1;
    if (sign !== "-") place["+"] += 1;
  }
  return shown;
}
