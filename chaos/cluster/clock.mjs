/** Loaded into a daemon: its clock is ahead by the milliseconds that a file holds, which may change at any time. */
import { readFileSync } from "node:fs";

const file = process.env.AEGIS_CHAOS_CLOCK;
if (file !== undefined) {
  const RealDate = Date;
  let ahead = 0;
  const read = () => {
    try {
      ahead = Number(readFileSync(file, "utf8")) || 0;
    } catch {
      // The folder is about to be removed.
    }
  };
  read();
  setInterval(read, 50).unref();
  globalThis.Date = class extends RealDate {
    constructor(...values) {
      super(...(values.length === 0 ? [RealDate.now() + ahead] : values));
    }
    static now() {
      return RealDate.now() + ahead;
    }
  };
}
