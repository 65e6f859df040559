/**
 * Identifies callers of the plane: one random token per open conversation. Only its hash is kept, until the
 * conversation closes.
 */
import { createHash, randomBytes } from "node:crypto";
import type { SessionId } from "../contract/ids.ts";
import { sessionTokenForm } from "../lib/session-token.ts";
import type { Toolset } from "../runtime/tables/toolset.ts";
import { Calls } from "./calls.ts";

export type Credential = {
  readonly session: SessionId;
  /** The tools that the session may use. */
  readonly tools: Toolset;
  /** Its open calls. */
  readonly calls: Calls;
  /** Resolves when the harness has sent its first request. */
  readonly reached: Promise<void>;
  /** Called for each request. */
  markReached(): void;
  /** Resolves when the harness has listed the tools. */
  readonly listed: Promise<void>;
  /** Called by the endpoint for each list of tools. */
  markListed(): void;
  /** Aborts when the credential is revoked, which ends its open calls. */
  readonly revoked: AbortSignal;
};

export class Credentials {
  readonly #byHash = new Map<string, Credential>();
  readonly #now: () => number;

  constructor(now: () => number) {
    this.#now = now;
  }

  /** Issues a token that authenticates the session until it is revoked. */
  issue(session: SessionId, tools: Toolset): { token: string; credential: Credential; revoke: () => void } {
    const token = `${sessionTokenForm.lead}${randomBytes(32).toString("base64url")}`;
    const hash = hashOf(token);
    const reached = Promise.withResolvers<void>();
    const listed = Promise.withResolvers<void>();
    const revoked = new AbortController();
    const credential: Credential = {
      session,
      tools,
      calls: new Calls(this.#now),
      reached: reached.promise,
      markReached: () => reached.resolve(),
      listed: listed.promise,
      markListed: () => listed.resolve(),
      revoked: revoked.signal,
    };
    this.#byHash.set(hash, credential);
    const revoke = () => {
      this.#byHash.delete(hash);
      revoked.abort(new Error("the session was closed"));
    };
    return { token, credential, revoke };
  }

  /** Looking up the hash prevents a timing attack on the token. */
  find(token: string): Credential | null {
    return this.#byHash.get(hashOf(token)) ?? null;
  }
}

function hashOf(token: string): string {
  return createHash("sha256").update(token).digest("hex");
}
