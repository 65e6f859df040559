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
    const tried = current;
    const outcome = await send(input, init).catch((error: unknown) => ({ error }));
    if (!mayRepeat(outcome, init)) return settled(outcome);
    const found = await inspectDaemonFile(root, home);
    if (found.state === "live" && found.file.id !== tried.id) {
      current = found.file;
      // The answer that is not used must not keep its connection.
      if ("status" in outcome) void outcome.text().catch(() => {});
      return send(input, init);
    }
    // The daemon that gave out the token is gone, and the next one has the same port but has not said yet who it is.
    if (isRefusal(outcome) && found.state !== "live") throw new TypeError("the daemon is restarting");
    return settled(outcome);
  };
  return createClient({ url: daemon.url, token: daemon.token, fetch: sendAgain });
}

type Outcome = Response | { error: unknown };

/** Only a request that no daemon has carried out, or that changes nothing. */
function mayRepeat(outcome: Outcome, init: RequestInit | undefined): boolean {
  if (init?.signal?.aborted) return false;
  return isRefusal(outcome) || ("error" in outcome && (wasRefused(outcome.error) || isRead(init)));
}

/** A daemon keeps its port across restarts while a browser knows it, and then refuses the token of the one before. */
function isRefusal(outcome: Outcome): boolean {
  return "status" in outcome && outcome.status === 401;
}

function settled(outcome: Outcome): Response {
  if ("error" in outcome) throw outcome.error;
  return outcome;
}

function isRead(init: RequestInit | undefined): boolean {
  return (init?.method ?? "GET") === "GET";
}

function wasRefused(error: unknown): boolean {
  return error instanceof Error && isErrno(error.cause, "ECONNREFUSED");
}
