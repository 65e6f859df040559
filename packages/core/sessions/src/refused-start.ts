/** Converts a refusal to start something into the failure of a turn. */
import { isAegisError } from "@aegis/contract/errors.ts";
import { DriverError } from "@aegis/drivers/driver.ts";

/** Returns a `DriverError` for a refusal, and any other error unchanged. */
export function asStartFailure(error: unknown): unknown {
  if (!isAegisError(error) || (error.code !== "forbidden" && error.code !== "unavailable")) return error;
  const fix = error.hint === undefined ? {} : { fix: error.hint };
  return new DriverError({ code: "start", message: error.message, ...fix }, { cause: error });
}
