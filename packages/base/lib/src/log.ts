/** The logger interface. The daemon passes a real logger, tests a silent one. */
export interface Logger {
  debug(message: string, fields?: Record<string, unknown>): void;
  info(message: string, fields?: Record<string, unknown>): void;
  warn(message: string, fields?: Record<string, unknown>): void;
  error(message: string, fields?: Record<string, unknown>): void;
}

export const silentLogger: Logger = { debug() {}, info() {}, warn() {}, error() {} };

/** Formats an unknown error as one line. */
export function errorText(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
