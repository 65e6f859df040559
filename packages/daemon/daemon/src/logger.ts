/** The daemon's log: JSON lines in which known secrets are redacted. */
import type { Logger } from "@aegis/lib/log.ts";
import type { Redact } from "@aegis/lib/redact.ts";

const levels = ["debug", "info", "warn", "error"] as const;
type Level = (typeof levels)[number];

/** `redact` must use the secrets of the moment, because they are known only after the configuration is read. */
export function createLogger(options: { level: string; write: (line: string) => void; redact: Redact }): Logger {
  const lowest = levels.indexOf(options.level as Level);
  const writer = (level: Level) => {
    if (lowest === -1 || levels.indexOf(level) < lowest) return () => {};
    return (msg: string, fields: Record<string, unknown> = {}) => {
      const line = { level, time: new Date().toISOString(), ...fields, msg };
      options.write(options.redact(`${JSON.stringify(line)}\n`));
    };
  };
  return { debug: writer("debug"), info: writer("info"), warn: writer("warn"), error: writer("error") };
}
