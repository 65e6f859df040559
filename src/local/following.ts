/** A client that finds a daemon again which was restarted: it listens elsewhere then, with another token. */
import { type Client, createClient } from "../client/client.ts";
import { type DaemonFile, inspectDaemonFile } from "../lib/daemon-file.ts";
import { isErrno } from "../lib/files.ts";

export function clientFollowing(root: string, daemon: DaemonFile): Client {
  let current = daemon;
  const send = (input: Parameters<typeof fetch>[0], init?: RequestInit) => {
    const url = String(input).replace(daemon.url, current.url);
    return fetch(url, { ...init, headers: { ...init?.headers, authorization: `Bearer ${current.token}` } });
  };
  const sendAgain: typeof fetch = async (input, init) => {
    try {
      return await send(input, init);
    } catch (error) {
      // Only a request that was certainly not received may be sent again.
      if (!wasRefused(error)) throw error;
      const found = await inspectDaemonFile(root);
      if (found.state !== "live" || found.file.id === current.id) throw error;
      current = found.file;
      return send(input, init);
    }
  };
  return createClient({ url: daemon.url, token: daemon.token, fetch: sendAgain });
}

function wasRefused(error: unknown): boolean {
  return error instanceof Error && isErrno(error.cause, "ECONNREFUSED");
}
