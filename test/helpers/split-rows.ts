/** Splits the rows of a table: the first of each kind for `npm test`, all others for cases with the tag `slow`. */
export function splitRows<Row>(rows: readonly Row[], kindOf: (row: Row) => unknown): { quick: Row[]; slow: Row[] } {
  const [kinds, quick, slow] = [new Set<unknown>(), [] as Row[], [] as Row[]];
  for (const row of rows) {
    const kind = kindOf(row);
    (kinds.has(kind) ? slow : quick).push(row);
    kinds.add(kind);
  }
  return { quick, slow };
}
