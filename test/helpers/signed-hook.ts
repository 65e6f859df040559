/** Headers of a signed request to an incoming webhook of the scheme `standard`. */
import { signature } from "@aegis/channels/webhooks/sign.ts";

export const hookSecret = `whsec_${Buffer.alloc(32, 9).toString("base64")}`;

export function signedHook(id: string, body: Uint8Array, at = Math.floor(Date.now() / 1000)) {
  return {
    "webhook-id": id,
    "webhook-timestamp": String(at),
    "webhook-signature": signature(hookSecret, id, at, body),
  };
}
