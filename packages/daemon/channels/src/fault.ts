/** The failures of a channel, by how Aegis handles them. Messages contain no secret. */

/**
 * `unreachable`: try again later. `rate_limited`: wait as long as the service says. `conflict`: another program receives
 * the messages of this account. `unauthorized`: the token is wrong or revoked. `blocked`: this place does not accept
 * messages now. `rejected`: this one delivery can never succeed. `gone`: the address will not come back.
 */
export type FaultKind = "unreachable" | "rate_limited" | "conflict" | "unauthorized" | "blocked" | "rejected" | "gone";

export class ChannelFault extends Error {
  override readonly name = "ChannelFault";
  readonly kind: FaultKind;
  /** How long the service asked to wait. */
  readonly afterMs: number | null;
  /** False if the request certainly had no effect. */
  readonly mayHaveArrived: boolean;

  constructor(kind: FaultKind, message: string, more: { afterMs?: number | null; mayHaveArrived?: boolean } = {}) {
    super(message);
    this.kind = kind;
    this.afterMs = more.afterMs ?? null;
    this.mayHaveArrived = more.mayHaveArrived ?? false;
  }
}
