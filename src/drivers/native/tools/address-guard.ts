/** Which addresses the fetch tool may reach: none of this machine, its network or its cloud's metadata service. */
import { lookup as systemLookup } from "node:dns";
import { BlockList, isIP, type LookupFunction } from "node:net";
import { ToolError } from "./tool-error.ts";

export function isPrivateAddress(address: string): boolean {
  const version = isIP(address);
  if (version === 4) return blockList().check(address, "ipv4");
  return version === 6 && blockList().check(address, "ipv6");
}

/**
 * Looks a name up and refuses private addresses at the moment of connecting, so that a name which answers differently
 * the second time gains nothing.
 */
export const guardedLookup: LookupFunction = (hostname, options, callback) => {
  systemLookup(hostname, { ...options, all: true }, (error, addresses) => {
    if (error !== null) return callback(error, "", 0);
    const blocked = addresses.find((entry) => isPrivateAddress(entry.address));
    if (blocked !== undefined) return callback(refusal(hostname), "", 0);
    if (options.all === true) return callback(null, addresses);
    const first = addresses[0];
    return first === undefined ? callback(refusal(hostname), "", 0) : callback(null, first.address, first.family);
  });
};

/** An address written out in the URL is never looked up. */
export function refuseLiteral(hostname: string): void {
  const bare = hostname.replace(/^\[|\]$/g, "");
  if (isPrivateAddress(bare)) throw refusal(bare);
}

function refusal(host: string): ToolError {
  return new ToolError(`${host} is on this machine or a private network, which fetch may not reach.`);
}

function blockList(): BlockList {
  const list = new BlockList();
  for (const [network, prefix] of private4) list.addSubnet(network, prefix, "ipv4");
  for (const [network, prefix] of private6) list.addSubnet(network, prefix, "ipv6");
  return list;
}

const private4: ReadonlyArray<readonly [string, number]> = [
  ["0.0.0.0", 8],
  ["10.0.0.0", 8],
  ["100.64.0.0", 10],
  ["127.0.0.0", 8],
  ["169.254.0.0", 16],
  ["172.16.0.0", 12],
  ["192.0.0.0", 24],
  ["192.168.0.0", 16],
  ["198.18.0.0", 15],
  ["224.0.0.0", 4],
  ["240.0.0.0", 4],
];

/** The last four carry an IPv4 address inside, which could be a private one. */
const private6: ReadonlyArray<readonly [string, number]> = [
  ["::", 128],
  ["::1", 128],
  ["fc00::", 7],
  ["fe80::", 10],
  ["ff00::", 8],
  ["::ffff:0:0", 96],
  ["64:ff9b::", 96],
  ["2002::", 16],
  ["2001::", 32],
];
