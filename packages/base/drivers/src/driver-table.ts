/** The drivers of this daemon by harness name. */

import { didYouMean } from "@aegis/lib/nearest.ts";
import type { Driver } from "./driver.ts";
import { DriverError } from "./driver.ts";

export class DriverTable {
  readonly #drivers: ReadonlyMap<string, Driver>;

  constructor(drivers: readonly Driver[]) {
    this.#drivers = new Map(drivers.map((driver) => [driver.harness, driver]));
  }

  get names(): string[] {
    return [...this.#drivers.keys()];
  }

  find(harness: string): Driver | null {
    return this.#drivers.get(harness) ?? null;
  }

  /** Throws `DriverError` with the nearest name. */
  get(harness: string): Driver {
    const driver = this.#drivers.get(harness);
    if (driver) return driver;
    throw new DriverError({
      code: "start",
      message: `no driver for harness "${harness}"${didYouMean(harness, this.#drivers.keys())}`,
      fix: `harnesses here: ${this.names.join(", ")}`,
    });
  }

  all(): Driver[] {
    return [...this.#drivers.values()];
  }
}
