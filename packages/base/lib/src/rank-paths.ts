/** Finds the paths that fit a typed text best. */

/**
 * Paths that contain the characters of the text in order, without regard to case. A name that begins with the text
 * comes first, then a path that contains it, then the rest; shorter paths come before longer ones.
 */
export function rankPaths(paths: readonly string[], text: string, limit: number): string[] {
  const wanted = text.toLowerCase();
  const ranked = paths.flatMap((path) => {
    const rank = rankOf(path.toLowerCase(), wanted);
    return rank === null ? [] : [{ path, rank }];
  });
  ranked.sort((a, b) => a.rank - b.rank || a.path.length - b.path.length || (a.path < b.path ? -1 : 1));
  return ranked.slice(0, limit).map(({ path }) => path);
}

function rankOf(path: string, wanted: string): number | null {
  const name = path.slice(path.lastIndexOf("/") + 1);
  if (name.startsWith(wanted) || path.startsWith(wanted)) return 0;
  if (name.includes(wanted)) return 1;
  if (path.includes(wanted)) return 2;
  let at = 0;
  for (const character of wanted) {
    at = path.indexOf(character, at) + 1;
    if (at === 0) return null;
  }
  return 3;
}
