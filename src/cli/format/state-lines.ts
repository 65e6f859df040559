/** The content of a state that may come from a third party, as lines for a terminal. */
import type { Style } from "./style.ts";
import { plural } from "./text.ts";

type StateContents = Awaited<ReturnType<typeof import("../../project/state/look.ts")["lookIntoState"]>>;

/** Characters that control a terminal or reorder its text. */
const acting = /[\p{Cc}\p{Cf}\u2028\u2029]/gu;

/** The text on one line, with every such character escaped. */
export function writtenOut(text: string): string {
  return text.replace(acting, (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`);
}

export function contentsLines(contents: StateContents, style: Style): string[] {
  const { digest, problem, waiting, files } = contents;
  const lines: string[] = [];
  for (const { kind, total, items } of waiting) {
    if (total === 0) continue;
    lines.push(`  ${style.bold(kind)}: ${total}`);
    for (const { id, title, text } of items) {
      lines.push(`    ${style.cyan(writtenOut(title))} ${style.dim(writtenOut(id))}`);
      if (text !== "" && text !== title) lines.push(`      ${writtenOut(text)}`);
    }
    if (items.length < total)
      lines.push(`    and ${plural(total - items.length, "more", "more")}: aegis state show --all`);
  }
  if (digest !== null && problem === null && lines.length === 0) lines.push("  It has no pending work.");
  if (problem !== null) lines.push(style.red(`  The database cannot be used: ${writtenOut(problem)}.`));
  if (files.length > 0) lines.push(`  Other files: ${files.map(writtenOut).join(", ")}`);
  if (digest !== null) lines.push(`  Digest of the database: ${digest}`);
  return lines;
}
