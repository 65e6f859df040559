/** Images that a message names as `@picture.png` are sent with it. */
import { readFile, stat } from "node:fs/promises";
import { basename, isAbsolute, join } from "node:path";

export type AttachedImage = { name: string; data: string };

const mention = /(?:^|\s)@(\S+\.(?:png|jpe?g|gif|webp))(?=$|\s|[.,;:!?])/gi;
const largest = 5 * 1024 * 1024;

/** A mention of a file that does not exist stays plain text. Throws if an image is too large. */
export async function attachedImages(text: string, root: string): Promise<AttachedImage[]> {
  const paths = [...new Set([...text.matchAll(mention)].map(([, path]) => path ?? ""))];
  const found: AttachedImage[] = [];
  for (const path of paths) {
    const file = isAbsolute(path) ? path : join(root, path);
    const size = await stat(file).then(
      (info) => (info.isFile() ? info.size : null),
      () => null,
    );
    if (size === null) continue;
    if (size > largest) throw new Error(`${path} has ${Math.ceil(size / 1e6)} MB; an image may have at most 5 MB`);
    found.push({ name: basename(path), data: (await readFile(file)).toString("base64") });
  }
  return found;
}
