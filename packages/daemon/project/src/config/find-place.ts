/** Finds the location of a configuration key for problems that are reported after loading. */
import { diskFiles, readSources } from "./files.ts";
import { locate } from "./positions.ts";
import type { KeyPath } from "./problem.ts";
import { placeOf } from "./source.ts";

/** Returns the file, relative to the project, and the line of the deepest existing part of the path. */
export async function findPlace(root: string, path: KeyPath): Promise<{ file: string | null; line: number | null }> {
  const { main, local, overlays } = await readSources(root, diskFiles);
  const places = [local, ...overlays, main].flatMap((source) => {
    if (source === null || !source.prefix.every((segment, index) => path[index] === segment)) return [];
    const { depth, key } = locate(source.document, path.slice(source.prefix.length));
    return [{ file: source.file, line: placeOf(source, key).line, depth: source.prefix.length + depth }];
  });
  const [best] = places.sort((a, b) => b.depth - a.depth);
  return best === undefined || best.depth === 0 ? { file: null, line: null } : { file: best.file, line: best.line };
}
