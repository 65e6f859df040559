/** Runs the check of delegated work whose agent says that it is done. */
import type { Check } from "@aegis/contract/check.ts";
import type { Consent } from "@aegis/lib/consent.ts";
import type { CheckOutcome, Checks, Verification } from "@aegis/worktrees/checks/checks.ts";

/** The check that a piece of work must pass, and what each run of its command requires. */
export type RequiredCheck = { check: Check; consent: () => Promise<Consent> };

export type VerifyOptions = { checks: Checks; find: () => Promise<RequiredCheck | null> };

/** `none` if the work has no check; `over` if the work ended while the check ran. */
export async function verifyWork(
  work: Omit<Verification, keyof RequiredCheck>,
  { checks, find }: VerifyOptions,
): Promise<CheckOutcome | "none" | "over"> {
  const found = await find();
  if (found === null) return "none";
  try {
    return await checks.verify({ ...work, ...found });
  } catch (error) {
    if (work.signal.aborted) return "over";
    throw error;
  }
}
