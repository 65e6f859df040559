/**
 * Validates the images of messages and stores them as content-addressed files. The nodes of a cluster also store them
 * in the database, because a session may not run on the node that received the image.
 */
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { AegisError } from "@aegis/contract/errors.ts";
import { type Attachment, imageMaxBytes, imagesMaxBytes, imagesMaxCount } from "@aegis/contract/message.ts";
import type { Session } from "@aegis/contract/session.ts";
import type { DriverTable } from "@aegis/drivers/driver-table.ts";
import { isErrno, makePrivateDir, writeAtomic } from "@aegis/lib/files.ts";

/** An incoming image; `data` is Base64. */
export type Upload = { name: string; data: string };

export type AttachmentsOptions = {
  dir: string;
  drivers: DriverTable;
  /** The files that the nodes of a cluster share; absent without a cluster. */
  shared?: SharedFiles | undefined;
};

export type SharedFiles = {
  get(sha256: string): Promise<Buffer | null>;
  put(sha256: string, data: Buffer): Promise<void>;
};

export class Attachments {
  readonly #options: AttachmentsOptions;

  constructor(options: AttachmentsOptions) {
    this.#options = options;
  }

  /**
   * Resolves when the files are on disk. Throws if the session's agent does not support images or a file is not an
   * image.
   */
  async keep(session: Pick<Session, "handle" | "harness">, uploads: readonly Upload[]): Promise<Attachment[]> {
    if (uploads.length === 0) return [];
    const able = this.#options.drivers.all().filter((driver) => driver.capabilities.images);
    if (!able.some((driver) => driver.harness === session.harness)) {
      throw new AegisError(
        "invalid",
        `"${session.handle}" runs on "${session.harness}", which does not accept images`,
        {
          hint: `name the file in the message instead; harnesses that accept images: ${able.map((driver) => driver.harness).join(", ")}`,
        },
      );
    }
    if (uploads.length > imagesMaxCount) throw tooMuch(`${uploads.length} images`, `${imagesMaxCount} images`);
    const pictures = uploads.map(readUpload);
    const total = pictures.reduce((sum, { attachment }) => sum + attachment.bytes, 0);
    if (total > imagesMaxBytes) throw tooMuch(`images of ${total} bytes`, `${imagesMaxBytes} bytes`);
    await makePrivateDir(this.#options.dir);
    for (const { attachment, data } of pictures) await this.#store(attachment, data);
    return pictures.map(({ attachment }) => attachment);
  }

  async #store(attachment: Attachment, data: Buffer): Promise<void> {
    await writeAtomic(this.pathOf(attachment), data, { mode: 0o600 });
    await this.#options.shared?.put(attachment.sha256, data);
  }

  /** Throws `not_found` if the file is gone. */
  async read(attachment: Attachment): Promise<Buffer> {
    try {
      await this.fetch([attachment]);
      return await readFile(this.pathOf(attachment));
    } catch (error) {
      if (!isErrno(error, "ENOENT")) throw error;
      throw new AegisError("not_found", `the image "${attachment.name}" is no longer stored`, { cause: error });
    }
  }

  /** Gets the files that another node received. */
  async fetch(attachments: readonly Attachment[]): Promise<void> {
    const { shared, dir } = this.#options;
    if (shared === undefined) return;
    for (const attachment of attachments.filter((one) => !existsSync(this.pathOf(one)))) {
      const data = await shared.get(attachment.sha256);
      if (data === null) continue;
      await makePrivateDir(dir);
      await writeAtomic(this.pathOf(attachment), data, { mode: 0o600 });
    }
  }

  pathOf({ sha256, media_type }: Attachment): string {
    return join(this.#options.dir, `${sha256}.${media_type.slice("image/".length)}`);
  }
}

function readUpload({ name, data: base64 }: Upload): { attachment: Attachment; data: Buffer } {
  const data = Buffer.from(base64, "base64");
  if (data.length > imageMaxBytes)
    throw tooMuch(`"${name}" of ${data.length} bytes`, `${imageMaxBytes} bytes an image`);
  const media_type = mediaTypeOf(data);
  if (media_type === null) {
    throw new AegisError("invalid", `"${name}" is not an image that an agent can see`, {
      hint: "supported: PNG, JPEG, GIF and WebP",
    });
  }
  const sha256 = createHash("sha256").update(data).digest("hex");
  return { attachment: { kind: "image", name, media_type, bytes: data.length, sha256 }, data };
}

/**
 * Detects the type from the first bytes: a file name proves nothing, and a provider rejects the whole turn for a bad
 * image.
 */
function mediaTypeOf(data: Buffer): Attachment["media_type"] | null {
  const starts = (bytes: string, at = 0) => data.subarray(at, at + bytes.length).equals(Buffer.from(bytes, "latin1"));
  if (starts("\x89PNG\r\n\x1a\n")) return "image/png";
  if (starts("\xff\xd8\xff")) return "image/jpeg";
  if (starts("GIF87a") || starts("GIF89a")) return "image/gif";
  if (starts("RIFF") && starts("WEBP", 8)) return "image/webp";
  return null;
}

function tooMuch(given: string, most: string): AegisError {
  return new AegisError("too_large", `${given} cannot be sent with a message: at most ${most} can`, {
    hint: "make them smaller, or put them into the project and name the files in the message",
  });
}
