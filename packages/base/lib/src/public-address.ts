/** Decides whether an IP address is public: not this machine, its local network or a cloud's internal network. */
import { BlockList, isIP } from "node:net";

/** Also returns false for text that is not an address. */
export function isPublicAddress(address: string): boolean {
  const bare = address.replace(/%.*$/, "");
  switch (isIP(bare)) {
    case 4:
      return !closed4.check(bare, "ipv4");
    case 6:
      return open6.check(bare, "ipv6") && !closed6.check(bare, "ipv6");
    default:
      return false;
  }
}

const closed4 = subnets("ipv4", [
  ...[
    ["0.0.0.0", 8],
    ["10.0.0.0", 8],
    ["100.64.0.0", 10],
    ["127.0.0.0", 8],
    ["169.254.0.0", 16],
  ],
  ...[
    ["172.16.0.0", 12],
    ["192.0.0.0", 24],
    ["192.0.2.0", 24],
    ["192.31.196.0", 24],
    ["192.52.193.0", 24],
  ],
  ...[
    ["192.88.99.0", 24],
    ["192.168.0.0", 16],
    ["192.175.48.0", 24],
    ["198.18.0.0", 15],
    ["198.51.100.0", 24],
  ],
  ...[
    ["203.0.113.0", 24],
    ["224.0.0.0", 4],
    ["240.0.0.0", 4],
  ],
  // Reachable only from inside Azure; serves data about the machine.
  ...[["168.63.129.16", 32]],
]);

/** The only allocated global range of IPv6. Mapped, local and translated addresses are outside it. */
const open6 = subnets("ipv6", [["2000::", 3]]);
/** Tunnels embed an IPv4 address that would need its own check. The other ranges are for documentation and tests. */
const closed6 = subnets("ipv6", [
  ...[
    ["2001::", 23],
    ["2001:db8::", 32],
    ["2002::", 16],
    ["2620:4f:8000::", 48],
    ["3fff::", 20],
  ],
]);

function subnets(family: "ipv4" | "ipv6", ranges: (readonly (string | number)[])[]): BlockList {
  const list = new BlockList();
  for (const [net, prefix] of ranges) list.addSubnet(String(net), Number(prefix), family);
  return list;
}
