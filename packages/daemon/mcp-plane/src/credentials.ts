/**
 * Identifies callers of the plane: one random token per open conversation. Only its hash is kept, until the
 * conversation closes.
 */
import { hash, randomBytes } from "node:crypto";
import type { SessionId } from "@aegis/contract/ids.ts";
import { sessionTokenForm } from "@aegis/lib/session-token.ts";
import type { Toolset } from "@aegis/sessions/tools/toolset.ts";
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
    const key = keyOf(token);
    const calls = new Calls(this.#now);
    const reached = Promise.withResolvers<void>();
    const listed = Promise.withResolvers<void>();
    const credential: Credential = {
      session,
      tools,
      calls,
      reached: reached.promise,
      markReached: () => reached.resolve(),
      listed: listed.promise,
      markListed: () => listed.resolve(),
    };
    this.#byHash.set(key, credential);
    const revoke = () => {
      this.#byHash.delete(key);
      calls.close(new Error("the session was closed"));
    };
    return { token, credential, revoke };
  }

  /** Looking up the hash prevents a timing attack on the token. */
  find(token: string): Credential | null {
    return this.#byHash.get(keyOf(token)) ?? null;
  }
}

function keyOf(token: string): string {
  return hash("sha256", token);
}
