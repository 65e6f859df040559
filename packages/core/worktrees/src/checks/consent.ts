/** The consent that a run of a check needs. */
import type { CheckOrigin } from "@aegis/contract/check.ts";
import type { Consent } from "@aegis/lib/consent.ts";

/** Judges at each run whether the command may start. `queue` names the queue whose configuration has it. */
export type CheckConsent = (origin: CheckOrigin | { queue: string }, command: string) => Promise<Consent>;
