/** Connects to an allowed host. The address is looked up once, checked, and is the one that is dialled. */
import { lookup } from "node:dns/promises";
import { once } from "node:events";
import { connect, isIP, type Socket } from "node:net";
import { networkInterfaces } from "node:os";
import { isPublicAddress } from "@aegis/lib/public-address.ts";
import { type HostRule, normalHost } from "../host-rules.ts";

const connectTimeoutMs = 30_000;

/** `host` is in its normal form, and a rule allows it. Throws if it leads to this machine or its network. */
export async function dial(host: string, port: number, rules: readonly HostRule[]): Promise<Socket> {
  const found = isIP(host) === 0 ? (await lookup(host)).address : host;
  const address = normalHost(found) ?? found;
  // Whoever answers for a name decides where it leads; only a rule for the address itself says that it is wanted.
  const isNamed = rules.some((rule) => !rule.below && rule.host === address && isIP(rule.host) !== 0);
  if (!isNamed && (!isPublicAddress(address) || isOwnAddress(address)))
    throw new Error(`${host} leads to ${address}, an address of this machine or its network; allow the address itself`);
  const socket = connect({ host: address, port });
  const late = setTimeout(() => socket.destroy(new Error(`${host} does not answer`)), connectTimeoutMs);
  try {
    await once(socket, "connect");
  } finally {
    clearTimeout(late);
  }
  return socket;
}

function isOwnAddress(address: string): boolean {
  return Object.values(networkInterfaces()).some((list) => list?.some((one) => one.address === address));
}
