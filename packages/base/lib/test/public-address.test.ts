/** The table of closed networks, compared with the one that ipaddr.js maintains. */
import fc from "fast-check";
import ipaddr, { type IPv4, type IPv6 } from "ipaddr.js";
import { expect, it } from "vitest";
import { isPublicAddress } from "../src/public-address.ts";

type Networks = Record<string, [IPv4 | IPv6, number] | [IPv4 | IPv6, number][]>;

/** The first and the last address of every network that ipaddr.js lists for a special use. */
function edges(kind: typeof ipaddr.IPv4 | typeof ipaddr.IPv6): string[] {
  const { SpecialRanges } = kind.prototype as unknown as { SpecialRanges: Networks };
  return Object.values(SpecialRanges).flatMap((listed) => {
    const networks = (Array.isArray(listed[0]) ? listed : [listed]) as [IPv4 | IPv6, number][];
    return networks.flatMap(([network, bits]) => {
      const cidr = `${network.toString()}/${bits}`;
      return [network.toString(), kind.broadcastAddressFromCIDR(cidr).toString()];
    });
  });
}

it("closes every network that ipaddr.js lists for a special use", () => {
  const listed = [...edges(ipaddr.IPv4), ...edges(ipaddr.IPv6)];
  expect(listed).toEqual(expect.arrayContaining(["127.0.0.0", "192.168.255.255", "fe80::"]));
  expect(listed.filter(isPublicAddress)).toEqual([]);
});

it("calls no address public that ipaddr.js gives a special use", () => {
  const group = fc.oneof(fc.nat(0xffff), fc.constantFrom(0, 0xdb8, 0x2001, 0x2002, 0x3fff, 0xff9b, 0xffff));
  const ipv4 = fc.tuple(fc.nat(255), fc.nat(255), fc.nat(255), fc.nat(255)).map((octets) => octets.join("."));
  const ipv6 = fc
    .tuple(fc.oneof(group, fc.integer({ min: 0x2000, max: 0x3fff })), group, group, group, group, group, group, group)
    .map((groups) => groups.map((one) => one.toString(16)).join(":"));
  const agrees = (address: string) => !isPublicAddress(address) || ipaddr.parse(address).range() === "unicast";
  fc.assert(fc.property(ipv4, agrees), { numRuns: 2_000 });
  fc.assert(fc.property(ipv6, agrees), { numRuns: 2_000 });
});

it("also closes a cloud's own service and what no registry has given out", () => {
  for (const address of ["168.63.129.16", "4000::1", "::ffff:8.8.8.8", "not an address", "127.0.0.1%eth0"])
    expect(isPublicAddress(address), address).toBe(false);
  for (const address of ["8.8.8.8", "1.1.1.1", "2606:4700:4700::1111"]) expect(isPublicAddress(address)).toBe(true);
});
