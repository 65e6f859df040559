/** Bounds that keep one client from using up the daemon. */

export type ServerLimits = {
  bodyBytes: number;
  headerBytes: number;
  /** A client must have sent its headers by then. */
  headersMs: number;
  /** A client must have sent its whole request by then. */
  requestMs: number;
  /** How often those two are checked. */
  checkMs: number;
  connections: number;
  heartbeatMs: number;
  /** How long an event stream may leave its socket full. */
  stallMs: number;
  /** How long requests under way may go on when the server closes. */
  closeGraceMs: number;
};

export const defaultLimits: ServerLimits = {
  bodyBytes: 12 * 1024 * 1024,
  headerBytes: 16 * 1024,
  headersMs: 10_000,
  requestMs: 60_000,
  checkMs: 2_000,
  connections: 2_048,
  heartbeatMs: 15_000,
  stallMs: 30_000,
  closeGraceMs: 2_000,
};
