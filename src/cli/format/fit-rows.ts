/** Fits sections of lines into the rows of a terminal: each section keeps its most useful lines and counts the rest. */

export type Section = {
  lines: readonly string[];
  /** Which lines stay if not all fit. */
  keep: "first" | "last";
  /** The line that says how many lines are hidden. */
  hidden: (count: number) => string;
};

/** Sections keep their given order. Those named first in `order` get a row first, and a share of the rest first. */
export function fitRows<Name extends string>(
  sections: Readonly<Record<Name, Section>>,
  order: readonly NoInfer<Name>[],
  rows: number,
): string[] {
  const room = new Map<string, number>();
  let left = rows;
  for (let gave = true; gave && left > 0; ) {
    gave = false;
    for (const name of order) {
      const has = room.get(name) ?? 0;
      if (left === 0 || has >= sections[name].lines.length) continue;
      room.set(name, has + 1);
      left -= 1;
      gave = true;
    }
  }
  return Object.entries<Section>(sections).flatMap(([name, section]) => fitted(section, room.get(name) ?? 0));
}

function fitted({ lines, keep, hidden }: Section, room: number): string[] {
  if (lines.length <= room) return [...lines];
  if (room === 0) return [];
  const note = hidden(lines.length - (room - 1));
  return keep === "first" ? [...lines.slice(0, room - 1), note] : [note, ...lines.slice(lines.length - (room - 1))];
}
