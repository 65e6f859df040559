/**
 * Signatures of webhooks: Standard Webhooks 1.0 in both directions, and GitHub's header for incoming ones. Signatures
 * are compared in constant time. See https://www.standardwebhooks.com.
 */
import { createHash, createHmac, timingSafeEqual } from "node:crypto";

export type Headers = Readonly<Record<string, string | undefined>>;

/** How far the time of a request may be from ours. */
const toleranceSeconds = 300;
const prefix = "whsec_";

/** The bytes of a secret: Base64 after `whsec_`, otherwise the text itself. */
function keyOf(secret: string): Buffer {
  return secret.startsWith(prefix) ? Buffer.from(secret.slice(prefix.length), "base64") : Buffer.from(secret);
}

/** The value of `webhook-signature`. */
export function signature(secret: string, id: string, seconds: number, body: Uint8Array): string {
  return `v1,${hmac(secret, `${id}.${seconds}.`, body).toString("base64")}`;
}

/**
 * Checks a request of the `standard` scheme. Returns the key that identifies the delivery, or null. A full stop in the
 * id is refused, because it could shift the borders of the signed text.
 */
export function verifyStandard(secret: string, headers: Headers, body: Uint8Array, now: number): string | null {
  const { "webhook-id": id, "webhook-timestamp": at, "webhook-signature": given } = headers;
  if (id === undefined || at === undefined || given === undefined) return null;
  if (!/^[\w-]{1,256}$/.test(id) || !/^\d{1,12}$/.test(at)) return null;
  if (Math.abs(now / 1000 - Number(at)) > toleranceSeconds) return null;
  const expected = hmac(secret, `${id}.${at}.`, body);
  const fits = given.split(" ").some((part) => part.startsWith("v1,") && isEqual(expected, base64(part.slice(3))));
  return fits ? id : null;
}

/**
 * Checks a request of the `github` scheme. GitHub signs only the body, so the key is the signature itself: the same body
 * is accepted once, regardless of its other headers.
 */
export function verifyGithub(secret: string, headers: Headers, body: Uint8Array): string | null {
  const given = headers["x-hub-signature-256"];
  if (given === undefined || !/^sha256=[0-9a-f]{64}$/.test(given)) return null;
  const expected = createHmac("sha256", secret).update(body).digest();
  return isEqual(expected, Buffer.from(given.slice("sha256=".length), "hex")) ? given : null;
}

function hmac(secret: string, head: string, body: Uint8Array): Buffer {
  return createHmac("sha256", keyOf(secret)).update(head).update(body).digest();
}

function base64(text: string): Buffer {
  return Buffer.from(text, "base64");
}

/** Digests have equal lengths, as the comparison requires. */
function isEqual(a: Uint8Array, b: Uint8Array): boolean {
  const digest = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest();
  return timingSafeEqual(digest(a), digest(b));
}
