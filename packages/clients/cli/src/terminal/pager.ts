/** Prints long output page by page on an interactive terminal, and all at once elsewhere. */
import { createInterface } from "node:readline";
import { displayWidth } from "../format/text.ts";
import type { CliContext } from "./context.ts";

/** Returns false if the user stopped before the end. */
export async function printPaged(cx: CliContext, lines: readonly string[]): Promise<boolean> {
  const pages = cx.interactive ? pagesOf(lines, { columns: cx.columns, rows: cx.rows }) : [lines];
  if (pages.length < 2) {
    for (const line of lines) cx.print(line);
    return true;
  }
  const input = createInterface({ input: cx.stdin, terminal: false });
  const turned = input[Symbol.asyncIterator]();
  try {
    let shown = 0;
    for (const page of pages) {
      for (const line of page) cx.print(line);
      shown += page.length;
      if (shown === lines.length) break;
      cx.write(`-- ${lines.length - shown} more lines: Enter continues, q stops -- `);
      const { done, value } = await turned.next();
      if (done === true || value.trim().toLowerCase() === "q") {
        cx.print(`-- ${lines.length - shown} lines were not shown --`);
        return false;
      }
    }
    return true;
  } finally {
    input.close();
  }
}

/** Counts wrapped lines as several rows. */
export function pagesOf(lines: readonly string[], { columns, rows }: { columns: number; rows: number }): string[][] {
  const room = Math.max(5, rows - 2);
  const pages: string[][] = [[]];
  let used = 0;
  for (const line of lines) {
    const takes = Math.max(1, Math.ceil(displayWidth(line) / Math.max(1, columns)));
    if (used > 0 && used + takes > room) {
      pages.push([]);
      used = 0;
    }
    pages.at(-1)?.push(line);
    used += takes;
  }
  return pages;
}
