/** Who calls the plane: a random token per open conversation, kept only as its hash, gone when the conversation is. */
import { createHash, randomBytes } from "node:crypto";
import type { SessionId } from "../contract/ids.ts";
import type { Toolset } from "../runtime/registry/toolset.ts";

export type Credential = {
  readonly session: SessionId;
  /** What the session may use. */
  readonly tools: Toolset;
  /** Resolves when the harness has asked for the tools. */
  readonly listed: Promise<void>;
  /** Told by the endpoint at each list of tools. */
  markListed(): void;
  /** Aborts when the credential is revoked: calls under way end with it. */
  readonly revoked: AbortSignal;
};

/**
 * What a session's token looks like. Tokens are kept out of everything that is written down by their look: a list of
 * those in use would be searched at each write, and grow with each session.
 */
export const sessionTokenPattern = /aegis-session-[\w-]{43}/;

export class Credentials {
  readonly #byHash = new Map<string, Credential>();

  /** A token that speaks for the session until it is revoked. */
  issue(session: SessionId, tools: Toolset): { token: string; credential: Credential; revoke: () => void } {
    const token = `aegis-session-${randomBytes(32).toString("base64url")}`;
    const hash = hashOf(token);
    const listed = Promise.withResolvers<void>();
    const revoked = new AbortController();
    const credential: Credential = {
      session,
      tools,
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

  /** Looking up the hash keeps the time it takes independent of how much of the token is right. */
  find(token: string): Credential | null {
    return this.#byHash.get(hashOf(token)) ?? null;
  }
}

function hashOf(token: string): string {
  return createHash("sha256").update(token).digest("hex");
}
