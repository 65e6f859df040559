/** Which errors stop a node of a cluster, and which ones it survives: it tries to join again until it succeeds. */
import { isAegisError } from "@aegis/contract/errors.ts";
import { isErrno } from "@aegis/lib/files.ts";
import { UnknownStateError } from "@aegis/project/state/judge.ts";
import { ProjectTakenError } from "@aegis/project/state/lock.ts";
import { StoreOverError } from "@aegis/store/transact.ts";
import { storeError } from "@aegis/store-sqlite/errors.ts";

/** What a machine lacks for some time, besides room on its disk. */
const shortages = ["EMFILE", "ENFILE", "ENOMEM", "EAGAIN", "EIO", "EADDRINUSE"];

/**
 * Whether a node that has served may join again after this error without a restart. A lost or full database, a full
 * disk of this machine and invalid settings may pass. A name that another node uses, lost commits, and a project folder
 * that is gone or that another daemon serves do not: the node must not decide about them.
 */
export function mayJoinAgain(error: unknown): boolean {
  // Something failed while the parts of the node were closed after an error.
  if (error instanceof SuppressedError) return mayJoinAgain(error.error) && mayJoinAgain(error.suppressed);
  if (isErrno(error, ...shortages)) return true;
  // Another process may only try to start here, and fail for the same reason.
  if (error instanceof ProjectTakenError) return !error.isServed;
  // Files and locks of this machine, on a disk that is full or cannot be written.
  const known = storeError(error, "this machine");
  if (!isAegisError(known) || known instanceof UnknownStateError) return false;
  return isErrno(known.cause, ...shortages) || (known.code !== "conflict" && known.code !== "not_found");
}

/**
 * Rejections that nothing handles end a process. In a node that meets an outage they do not: it joins again, and its
 * recovery continues the work as after a crash. All other ones still end it.
 */
export class Outages {
  #listener: ((error: Error) => void) | null = null;
  #isFollowed = false;

  /** From the first call on, no outage ends the process. Returns a function that stops calling the listener. */
  follow(listener: (error: Error) => void): () => void {
    if (!this.#isFollowed) process.on("unhandledRejection", (error) => this.#handle(error));
    this.#isFollowed = true;
    this.#listener = listener;
    return () => {
      if (this.#listener === listener) this.#listener = null;
    };
  }

  #handle(error: unknown): void {
    if (!(error instanceof Error) || !mayJoinAgain(error)) throw error;
    // What is left of an earlier life of the node ends by itself.
    if (!(error instanceof StoreOverError)) this.#listener?.(error);
  }
}
