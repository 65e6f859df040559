/**
 * Decides which addresses the fetch tool may reach: none of this machine, its network or its cloud's metadata service.
 */
import { lookup as systemLookup } from "node:dns";
import { isIP, type LookupFunction } from "node:net";
import { isPublicAddress } from "../../../lib/public-address.ts";
import { ToolError } from "./tool-error.ts";

/**
 * Resolves a name and rejects private addresses at connect time, so that a name that resolves differently the second
 * time (DNS rebinding) is rejected too.
 */
export const guardedLookup: LookupFunction = (hostname, options, callback) => {
  systemLookup(hostname, { ...options, all: true }, (error, addresses) => {
    if (error !== null) return callback(error, "", 0);
    const blocked = addresses.find((entry) => !isPublicAddress(entry.address));
    if (blocked !== undefined) return callback(refusal(hostname), "", 0);
    if (options.all === true) return callback(null, addresses);
    const first = addresses[0];
    return first === undefined ? callback(refusal(hostname), "", 0) : callback(null, first.address, first.family);
  });
};

/** An IP address in the URL is never looked up, so it is checked here. */
export function refuseLiteral(hostname: string): void {
  const bare = hostname.replace(/^\[|\]$/g, "");
  if (isIP(bare) !== 0 && !isPublicAddress(bare)) throw refusal(bare);
}

function refusal(host: string): ToolError {
  return new ToolError(`${host} is on this machine or a private network, which fetch may not reach.`);
}
