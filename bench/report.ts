/** Figures as a table. */
import type { Figure } from "./measure.ts";

const columns = ["measured", "ours", "base", "against", "ratio", "goal", ""] as const;

export function table(figures: readonly Figure[]): string {
  const rows = [[...columns], ...figures.map(row)];
  const widths = columns.map((_, column) => Math.max(...rows.map((cells) => cells[column]?.length ?? 0)));
  const lines = rows.map((cells) => cells.map((cell, column) => pad(cell, widths[column] ?? 0, column)).join("  "));
  return lines.map((line) => line.trimEnd()).join("\n");
}

function row({ name, unit, ours, base, against, ratio, goal }: Figure): string[] {
  const met = goal === null ? "" : goal.met ? "met" : "MISSED";
  return [
    name,
    `${short(ours)} ${unit}`.trimEnd(),
    `${short(base)} ${unit}`.trimEnd(),
    against,
    Number.isFinite(ratio) ? `${short(ratio)}x` : "-",
    goal?.text ?? "",
    met,
  ];
}

/** Numbers are read from the right. */
function pad(cell: string, width: number, column: number): string {
  return column === 1 || column === 2 || column === 4 ? cell.padStart(width) : cell.padEnd(width);
}

/** Three digits are more than two runs agree on. */
function short(value: number): string {
  const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  return value.toFixed(digits);
}
