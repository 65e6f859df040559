/** Reads image files from the command line for a request. */
import { readFile } from "node:fs/promises";
import { basename } from "node:path";
import { errorText } from "../../../lib/log.ts";
import { usageError } from "../../program/failure.ts";

export async function readImages(files: readonly string[]): Promise<{ name: string; data: string }[]> {
  return Promise.all(
    files.map(async (file) => {
      const bytes = await readFile(file).catch((error: unknown) => {
        throw usageError(`the image ${file} cannot be read: ${errorText(error)}`);
      });
      return { name: basename(file), data: bytes.toString("base64") };
    }),
  );
}
