/** Consent for what a test starts itself. */
import { Consent } from "@aegis/lib/consent.ts";

export function agreed(): Consent {
  return Consent.grant("a test");
}
