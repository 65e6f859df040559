/** The credentials of clients: programs that use Aegis over MCP. */
import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import type { SecretForm } from "./redact.ts";

/** Redaction recognises the secret part of a token by its form. */
export const clientTokenForm: SecretForm = { lead: "aegis-client-", class: "[\\w-]", count: 43 };

/** A token for a client that keeps it, such as one that uses HTTP. The daemon stores its hash. */
export function randomClientToken(): string {
  return `${clientTokenForm.lead}${randomBytes(32).toString("base64url")}`;
}

/**
 * A token that the holder of the daemon's token derives for a client that it starts. It proves the name without being
 * stored, and ends with the daemon's token.
 */
export function derivedClientToken(daemonToken: string, name: string): string {
  const proof = createHmac("sha256", daemonToken).update(`aegis client\0${name}`).digest("base64url");
  return `${clientTokenForm.lead}${proof}~${name}`;
}

/** The name that a derived token proves, or null. */
export function nameInDerivedToken(daemonToken: string, token: string): string | null {
  const name = token.slice(clientTokenForm.lead.length + clientTokenForm.count + 1);
  if (name === "" || !token.startsWith(clientTokenForm.lead)) return null;
  const expected = Buffer.from(derivedClientToken(daemonToken, name));
  const given = Buffer.from(token);
  return expected.length === given.length && timingSafeEqual(expected, given) ? name : null;
}
