/** Limits that keep one client from exhausting the daemon. */

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
  /** Of these, how many may have shown no token yet; past it the oldest of them is closed for each new one. */
  strangers: number;
  /** How long a connection has to show a token before it may be closed for that. A burst of requests needs seconds on a busy machine. */
  strangerMs: number;
  /** How long a connection may wait for its next request. */
  idleMs: number;
  /** Event streams that are open at once. */
  streams: number;
  heartbeatMs: number;
  /** How long a client may leave its socket full. */
  stallMs: number;
  /** Of complete answers that wait for slow readers, all together. */
  unreadBytes: number;
  /** How long running requests may continue when the server closes. */
  closeGraceMs: number;
};

export const defaultLimits: ServerLimits = {
  bodyBytes: 12 * 1024 * 1024,
  headerBytes: 16 * 1024,
  headersMs: 10_000,
  requestMs: 60_000,
  checkMs: 2_000,
  connections: 2_048,
  strangers: 256,
  strangerMs: 10_000,
  idleMs: 5_000,
  streams: 1_024,
  heartbeatMs: 15_000,
  stallMs: 30_000,
  unreadBytes: 64 * 1024 * 1024,
  closeGraceMs: 2_000,
};
