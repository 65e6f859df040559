/** Encrypts live text with a key that only roles with access to the project's tables can read. */
import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";
import type { Store } from "@aegis/store/store.ts";

const algorithm = "aes-256-gcm";
const ivBytes = 12;
const tagBytes = 16;
const position = "node:live-text-key";

/** The key of the project. The first node creates it. */
export async function textKey(store: Store, now: number): Promise<Buffer> {
  const known = await store.read.channels.cursor(position);
  const hex =
    known?.position ??
    (await store.transact(async (tx) => {
      const before = await tx.channels.cursor(position);
      if (before !== null) return before.position;
      const fresh = randomBytes(32).toString("hex");
      await tx.channels.setCursor(position, fresh, now);
      return fresh;
    }));
  return Buffer.from(hex, "hex");
}

export function sealText(key: Buffer, text: string): string {
  const iv = randomBytes(ivBytes);
  const cipher = createCipheriv(algorithm, key, iv);
  const sealed = Buffer.concat([cipher.update(text, "utf8"), cipher.final()]);
  return Buffer.concat([iv, cipher.getAuthTag(), sealed]).toString("base64");
}

/** Returns null for a text that was sealed with another key or was changed. */
export function openText(key: Buffer, text: string): string | null {
  const bytes = Buffer.from(text, "base64");
  if (bytes.length < ivBytes + tagBytes) return null;
  try {
    const decipher = createDecipheriv(algorithm, key, bytes.subarray(0, ivBytes), { authTagLength: tagBytes });
    decipher.setAuthTag(bytes.subarray(ivBytes, ivBytes + tagBytes));
    return Buffer.concat([decipher.update(bytes.subarray(ivBytes + tagBytes)), decipher.final()]).toString("utf8");
  } catch {
    return null;
  }
}
