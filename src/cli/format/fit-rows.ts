/** Lines of several kinds that share the rows of a terminal: of each kind the most telling stay, and the rest is counted. */

export type Section = {
  lines: readonly string[];
  /** Which of them stay when there is no room for all. */
  keep: "first" | "last";
  /** Says how many are not shown. */
  hidden: (count: number) => string;
};

/** In the order they are given. Those named first in `order` get the first row each, and the first of what is left. */
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
