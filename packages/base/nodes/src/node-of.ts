import { AegisError } from "@aegis/contract/errors.ts";
import type { SessionRow, Store } from "@aegis/store/store.ts";

type OfNode = Pick<Store, "membership">;

/** The name of the node that uses the store; null if the store has one process. */
export function nodeOf(store: OfNode): string | null {
  return store.membership?.node ?? null;
}

/** Whether the session runs on this node. */
export function isHere(store: OfNode, session: Pick<SessionRow, "node"> | null): boolean {
  return (session?.node ?? null) === nodeOf(store);
}

/** Throws `conflict` for a session on another node, whose files are not here. */
export function requireHere(store: OfNode, session: Pick<SessionRow, "node" | "handle">): void {
  if (isHere(store, session)) return;
  throw new AegisError("conflict", `session "${session.handle}" has its files on node "${session.node}"`, {
    hint: "run the command on that node",
  });
}
