/** Attachments from people: images go to the agent as images if its harness accepts them, other files as paths. */
import { createHash } from "node:crypto";
import { extname, join, relative } from "node:path";
import { isAegisError } from "@aegis/contract/errors.ts";
import type { Attachment } from "@aegis/contract/message.ts";
import { makePrivateDir, writeAtomic } from "@aegis/lib/files.ts";
import { errorText } from "@aegis/lib/log.ts";
import type { Attachments } from "@aegis/sessions/inbox/attachments.ts";
import type { Channel, FileRef } from "../channel.ts";
import { ChannelFault } from "../fault.ts";

export type FilesOptions = { attachments: Attachments; root: string; dir: string };

export type TakenFiles = {
  images: Attachment[];
  /** Lines for the message, one for each file that is not an image of the message. */
  notes: string[];
};

/** Fetches the files. `last` is true if a file that cannot be fetched now is left out instead of tried again. */
export async function takeFiles(
  channel: Pick<Channel, "attach">,
  files: readonly FileRef[],
  target: { handle: string; harness: string },
  options: FilesOptions & { last: boolean; signal: AbortSignal },
): Promise<TakenFiles> {
  const taken: TakenFiles = { images: [], notes: [] };
  for (const file of files) {
    try {
      const data = await channel.attach(file, options.signal);
      const images = file.image ? await asImages(file, data, target, options) : [];
      taken.images.push(...images);
      if (images.length === 0) taken.notes.push(`[file ${file.name}: ${await keepFile(file, data, options)}]`);
    } catch (error) {
      options.signal.throwIfAborted();
      const isLost = error instanceof ChannelFault && error.kind === "rejected";
      if (!isLost && !options.last) throw error;
      taken.notes.push(`[file ${file.name} could not be fetched: ${errorText(error)}]`);
    }
  }
  return taken;
}

async function asImages(
  { name }: FileRef,
  data: Uint8Array,
  target: { handle: string; harness: string },
  { attachments }: FilesOptions,
): Promise<Attachment[]> {
  try {
    return await attachments.keep(target, [{ name, data: Buffer.from(data).toString("base64") }]);
  } catch (error) {
    // The harness takes no images, or this is none that it knows: the agent gets the path instead.
    if (isAegisError(error)) return [];
    throw error;
  }
}

/** Stores the file by its hash and returns its path relative to the project. */
async function keepFile({ name }: FileRef, data: Uint8Array, { dir, root }: FilesOptions): Promise<string> {
  const hash = createHash("sha256").update(data).digest("hex");
  const [extension = ""] = /^\.[a-z0-9]{1,8}$/.exec(extname(name).toLowerCase()) ?? [];
  const path = join(dir, `${hash}${extension}`);
  await makePrivateDir(dir);
  await writeAtomic(path, data, { mode: 0o600 });
  return relative(root, path);
}
