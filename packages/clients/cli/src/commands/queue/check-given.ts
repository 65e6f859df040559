/** Reads the check that the options of a command name. */
import { usageError } from "../../program/failure.ts";
import { given } from "../../program/given.ts";

export type CheckArgs = {
  check?: string | undefined;
  checkRetries?: number | undefined;
  checkTimeoutMs?: number | undefined;
};

/** Empty if the options name none. */
export function checkGiven({ check: command, checkRetries: max_retries, checkTimeoutMs }: CheckArgs) {
  if (command === undefined) {
    if (max_retries === undefined && checkTimeoutMs === undefined) return {};
    throw usageError("--check-retries and --check-timeout need --check");
  }
  const timeout = checkTimeoutMs === undefined ? undefined : checkTimeoutMs / 1_000;
  return { check: { command, ...given({ max_retries, timeout }) } };
}
