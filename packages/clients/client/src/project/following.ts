/** A client that finds the daemon again after a restart, when its address and token have changed. */

import { type DaemonFile, inspectDaemonFile } from "@aegis/lib/daemon-file.ts";
import { isErrno } from "@aegis/lib/files.ts";
import { type Client, createClient } from "../client.ts";
import { httpFetch } from "./http-fetch.ts";

/** `credential` derives the token of each request from the daemon's; default: the daemon's own. */
export function clientFollowing(
  root: string,
  daemon: DaemonFile,
  home: string,
  credential: (token: string) => string = (token) => token,
): Client {
  let current = daemon;
  const send = (input: Parameters<typeof fetch>[0], init?: RequestInit) => {
    const url = String(input).replace(daemon.url, current.url);
    return httpFetch(url, {
      ...init,
      headers: { ...init?.headers, authorization: `Bearer ${credential(current.token)}` },
    });
  };
  const sendAgain: typeof fetch = async (input, init) => {
    try {
      return await send(input, init);
    } catch (error) {
      // Retry only a request that the daemon certainly did not receive, or that changes nothing.
      if (!wasRefused(error) && !isRead(init)) throw error;
      if (init?.signal?.aborted) throw error;
      const found = await inspectDaemonFile(root, home);
      if (found.state !== "live" || found.file.id === current.id) throw error;
      current = found.file;
      return send(input, init);
    }
  };
  return createClient({ url: daemon.url, token: daemon.token, fetch: sendAgain });
}

function isRead(init: RequestInit | undefined): boolean {
  return (init?.method ?? "GET") === "GET";
}

function wasRefused(error: unknown): boolean {
  return error instanceof Error && isErrno(error.cause, "ECONNREFUSED");
}
