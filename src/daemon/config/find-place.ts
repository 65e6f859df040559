/** Where a key of the configuration stands, for complaints that are made long after it was read. */
import { diskFiles, readSources } from "./files.ts";
import { locate } from "./positions.ts";
import type { KeyPath } from "./problem.ts";
import { placeOf } from "./source.ts";

/** The file, relative to the project, and the line of the deepest part of the path that is there. */
export async function findPlace(root: string, path: KeyPath): Promise<{ file: string | null; line: number | null }> {
  const { main, local } = await readSources(root, diskFiles);
  const places = [local, main].flatMap((source) => {
    if (source === null) return [];
    const { depth, key } = locate(source.document, path);
    return [{ file: source.file, line: placeOf(source, key).line, depth }];
  });
  const [best] = places.sort((a, b) => b.depth - a.depth);
  return best === undefined || best.depth === 0 ? { file: null, line: null } : { file: best.file, line: best.line };
}
