/** Pictures that go along with messages: checked, then kept as files named by what is in them. */
import { createHash } from "node:crypto";
import { join } from "node:path";
import { AegisError } from "../../contract/errors.ts";
import { type Attachment, imageMaxBytes, imagesMaxBytes, imagesMaxCount } from "../../contract/message.ts";
import type { Session } from "../../contract/session.ts";
import { makePrivateDir, writeAtomic } from "../../lib/files.ts";
import type { DriverRegistry } from "../registry/drivers.ts";

/** A picture as it comes in; `data` is Base64. */
export type Upload = { name: string; data: string };

export type AttachmentsOptions = {
  dir: string;
  drivers: DriverRegistry;
};

export class Attachments {
  readonly #options: AttachmentsOptions;

  constructor(options: AttachmentsOptions) {
    this.#options = options;
  }

  /** Resolves when the files are on disk. Throws when the session's agent cannot see them or one is no picture. */
  async keep(session: Pick<Session, "handle" | "harness">, uploads: readonly Upload[]): Promise<Attachment[]> {
    if (uploads.length === 0) return [];
    const able = this.#options.drivers.all().filter((driver) => driver.capabilities.images);
    if (!able.some((driver) => driver.harness === session.harness)) {
      throw new AegisError("invalid", `"${session.handle}" runs on "${session.harness}", which takes no images`, {
        hint: `name the file in the message instead; harnesses that take images: ${able.map((driver) => driver.harness).join(", ")}`,
      });
    }
    if (uploads.length > imagesMaxCount) throw tooMuch(`${uploads.length} images`, `${imagesMaxCount} images`);
    const pictures = uploads.map(readUpload);
    const total = pictures.reduce((sum, { attachment }) => sum + attachment.bytes, 0);
    if (total > imagesMaxBytes) throw tooMuch(`images of ${total} bytes`, `${imagesMaxBytes} bytes`);
    await makePrivateDir(this.#options.dir);
    for (const { attachment, data } of pictures) await writeAtomic(this.pathOf(attachment), data, { mode: 0o600 });
    return pictures.map(({ attachment }) => attachment);
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
    throw new AegisError("invalid", `"${name}" is no picture that an agent could see`, {
      hint: "PNG, JPEG, GIF and WebP are",
    });
  }
  const sha256 = createHash("sha256").update(data).digest("hex");
  return { attachment: { kind: "image", name, media_type, bytes: data.length, sha256 }, data };
}

/** By its first bytes: a name or a sender's word proves nothing, and a provider refuses the whole turn for it. */
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
