/** Rows as a Markdown table with its title, so that they can be published as they are. */
export function table(title: string, head: readonly string[], rows: readonly (readonly string[])[]): string {
  const columns = head.map((text, column) => {
    const cells = rows.map((row) => row[column] ?? "");
    const width = Math.max(text.length, ...cells.map((cell) => cell.length));
    return { width, isNumber: cells.every((cell) => cell === "" || /^\d/.test(cell)) };
  });
  const line = (cells: readonly string[]) =>
    `| ${columns.map(({ width, isNumber }, at) => (isNumber ? cells[at]?.padStart(width) : cells[at]?.padEnd(width))).join(" | ")} |`;
  const rule = columns.map(({ width, isNumber }) => (isNumber ? `${"-".repeat(width - 1)}:` : "-".repeat(width)));
  return ["", `**${title}**`, "", line(head), line(rule), ...rows.map(line)].join("\n");
}
