/** Converts a refusal to start something into the failure of a turn. */
import { isAegisError } from "@aegis/contract/errors.ts";
import { DriverError } from "@aegis/drivers/driver.ts";
import { SandboxUnavailable } from "@aegis/sandbox/sandbox.ts";
import { StoreAwayError } from "@aegis/store/transact.ts";

/** Returns a `DriverError` for a refusal, and any other error unchanged. A database that is away is no refusal: it waits. */
export function asStartFailure(error: unknown): unknown {
  if (error instanceof StoreAwayError) return error;
  if (!isAegisError(error) || (error.code !== "forbidden" && error.code !== "unavailable")) return error;
  const fix = error.hint === undefined ? {} : { fix: error.hint };
  const code = error.cause instanceof SandboxUnavailable ? "sandbox_unavailable" : "start";
  return new DriverError({ code, message: error.message, ...fix }, { cause: error });
}
