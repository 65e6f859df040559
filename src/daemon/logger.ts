/** The daemon's log: JSON lines without the values of known secrets. */
import { pino } from "pino";
import type { Logger } from "../lib/log.ts";
import type { Redact } from "../lib/redact.ts";

/** `redact` is asked for at each line, because the secrets are known only after the config is read. */
export function createLogger(options: { level: string; write: (line: string) => void; redact: () => Redact }): Logger {
  const log = pino(
    {
      level: options.level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
    },
    { write: (line: string) => options.write(options.redact()(line)) },
  );
  return {
    debug: (message, fields = {}) => log.debug(fields, message),
    info: (message, fields = {}) => log.info(fields, message),
    warn: (message, fields = {}) => log.warn(fields, message),
    error: (message, fields = {}) => log.error(fields, message),
  };
}
