import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { isPublicAddress } from "../src/public-address.ts";
import { type FetchOptions, type Network, publicNetwork, safeFetch } from "../src/safe-fetch.ts";

const limits: FetchOptions = { maxBytes: 1000, timeoutMs: 5000 };

async function serve(listener: RequestListener, host = "127.0.0.1"): Promise<URL> {
  const server = createServer(listener).listen(0, host);
  await new Promise((resolve) => server.once("listening", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return new URL(`http://${host}:${(server.address() as AddressInfo).port}`);
}

/** Names resolve to what is listed, call by call; only 127.0.0.1 is held to be public. */
function network(...answers: string[]): Network & { asked: string[] } {
  const asked: string[] = [];
  return {
    asked,
    resolve: async (host) => {
      const address = answers[asked.length] ?? "127.0.0.1";
      asked.push(host);
      return [{ address, family: 4 }];
    },
    mayReach: (address) => address === "127.0.0.1",
    schemes: ["http:"],
  };
}

test("addresses that are not public are recognised", () => {
  const open = ["1.1.1.1", "140.82.121.4", "2606:4700::1111", "100.63.0.1", "172.32.0.1"];
  const closed = [
    ...["127.0.0.1", "127.8.8.8", "0.0.0.0", "10.1.2.3", "172.16.0.1", "172.31.255.255", "192.168.1.1"],
    ...["169.254.169.254", "100.64.0.1", "100.100.100.200", "168.63.129.16", "198.18.0.1", "224.0.0.1"],
    ...["255.255.255.255", "::", "::1", "fe80::1", "fe80::1%eth0", "fc00::1", "fd00:ec2::254", "ff02::1"],
    ...["::ffff:127.0.0.1", "::ffff:8.8.8.8", "64:ff9b::7f00:1", "2002:7f00:1::", "2001:0:1::", "2001:db8::1"],
    ...["localhost", "", "1.2.3"],
  ];
  expect(open.filter((address) => !isPublicAddress(address))).toEqual([]);
  expect(closed.filter(isPublicAddress)).toEqual([]);
});

test.each([
  "https://127.0.0.1/",
  "https://2130706433/",
  "https://0x7f.1/",
  "https://0177.0.0.1/",
  "https://[::1]/",
  "https://[::ffff:127.0.0.1]/",
  "https://169.254.169.254/latest/meta-data/",
  "https://localhost/",
  "http://1.1.1.1/",
  "https://user:pass@1.1.1.1/",
  "file:///etc/passwd",
  "ftp://1.1.1.1/",
])("%s is refused", async (url) => {
  await expect(safeFetch(url, limits)).rejects.toMatchObject({ name: "FetchError", problem: "refused" });
});

test("a name with one address inside is refused, however many are outside", async () => {
  const resolve = async () => [
    { address: "1.1.1.1", family: 4 as const },
    { address: "10.0.0.1", family: 4 as const },
  ];
  const url = "https://mixed.test/";
  await expect(safeFetch(url, { ...limits, network: { ...publicNetwork, resolve } })).rejects.toMatchObject({
    problem: "refused",
    message: "https://mixed.test/: its address 10.0.0.1 is not on the open internet",
  });
});

test("an origin that a person configured may be plain and on this machine, nothing else may", async () => {
  const url = await serve((_, response) => response.end("here"));
  const trustedOrigins = [url.origin];
  const answer = await safeFetch(new URL("/a?b", url), { ...limits, trustedOrigins });
  expect(answer.body.toString()).toBe("here");
  const other = `http://localhost:${url.port}/`;
  await expect(safeFetch(other, { ...limits, trustedOrigins })).rejects.toMatchObject({ problem: "refused" });
});

test("the address that was judged is the one connected to, whatever the name means a moment later", async () => {
  const hosts: (string | undefined)[] = [];
  const url = await serve((request, response) => {
    hosts.push(request.headers.host);
    response.end("judged");
  });
  const dns = network("127.0.0.1", "127.0.0.2");
  const first = await safeFetch(`http://rebind.test:${url.port}/`, { ...limits, network: dns });
  expect(first.body.toString()).toBe("judged");
  expect(dns.asked).toEqual(["rebind.test"]);
  expect(hosts).toEqual([`rebind.test:${url.port}`]);
  const second = safeFetch(`http://rebind.test:${url.port}/`, { ...limits, network: dns });
  await expect(second).rejects.toMatchObject({ problem: "refused" });
  expect(hosts).toHaveLength(1);
});

test("a redirect is judged like the first address, and takes no secret to another origin", async () => {
  const seen: (string | undefined)[] = [];
  const url = await serve((request, response) => {
    seen.push(request.headers.authorization);
    if (request.url === "/start") response.writeHead(302, { location: `http://other.test:${url.port}/end` }).end();
    else response.end("end");
  });
  const headers = { authorization: "Bearer x" };
  const dns = network();
  const answer = await safeFetch(`http://one.test:${url.port}/start`, { ...limits, headers, network: dns });
  expect(answer.url.pathname).toBe("/end");
  expect(dns.asked).toEqual(["one.test", "other.test"]);
  expect(seen).toEqual(["Bearer x", undefined]);
});

test.each([
  ["loopback", "http://127.0.0.2/"],
  ["link-local", "http://169.254.169.254/latest"],
  ["another scheme", "file:///etc/passwd"],
  ["a name that means this machine", "http://inside.test/"],
])("a redirect to %s is refused", async (_, location) => {
  const url = await serve((_request, response) => response.writeHead(302, { location }).end());
  const dns = network("127.0.0.1", "10.0.0.1");
  const fetched = safeFetch(`http://one.test:${url.port}/`, { ...limits, network: dns });
  await expect(fetched).rejects.toMatchObject({ problem: "refused" });
});

test("a trusted origin cannot hand its trust on by a redirect", async () => {
  const inside = await serve((_, response) => response.end("secret"));
  const url = await serve((_, response) => response.writeHead(307, { location: inside.href }).end());
  const fetched = safeFetch(url, { ...limits, trustedOrigins: [url.origin] });
  await expect(fetched).rejects.toMatchObject({ problem: "refused" });
});

test("redirects end", async () => {
  const url = await serve((_, response) => response.writeHead(302, { location: "/" }).end());
  const fetched = safeFetch(url, { ...limits, trustedOrigins: [url.origin] });
  await expect(fetched).rejects.toMatchObject({ problem: "redirects" });
});

test.each<[string, string, RequestListener]>([
  [
    "a length over the limit",
    "too_large",
    (_, response) => response.writeHead(200, { "content-length": 1001 }).write("x"),
  ],
  ["more than the limit, unannounced", "too_large", (_, response) => response.end("x".repeat(1001))],
  [
    "a cut body",
    "cut",
    (_, response) => {
      response.writeHead(200, { "content-length": 100 });
      response.write("half", () => response.destroy());
    },
  ],
  ["a cut chunked body", "cut", (_, response) => void response.write("half", () => response.destroy())],
  ["no answer at all", "failed", (request) => request.destroy()],
  [
    "packed content that was not requested",
    "failed",
    (_, response) => response.writeHead(200, { "content-encoding": "gzip" }).end("x"),
  ],
])("%s is an error", async (_, problem, listener) => {
  const url = await serve(listener);
  const fetched = safeFetch(url, { ...limits, trustedOrigins: [url.origin] });
  await expect(fetched).rejects.toMatchObject({ name: "FetchError", problem });
});

test("a server that never finishes runs into the deadline, and a caller that leaves gets its own reason", async () => {
  const url = await serve((_, response) => void response.write("x"));
  const trustedOrigins = [url.origin];
  await expect(safeFetch(url, { ...limits, timeoutMs: 50, trustedOrigins })).rejects.toMatchObject({
    problem: "timeout",
  });
  const leaving = new AbortController();
  const fetched = safeFetch(url, { ...limits, signal: leaving.signal, trustedOrigins });
  leaving.abort(new Error("left"));
  await expect(fetched).rejects.toThrow("left");
});

test("an error shows no query", async () => {
  const url = "https://127.0.0.1/a?token=secret";
  await expect(safeFetch(url, limits)).rejects.toThrow(/^https:\/\/127\.0\.0\.1\/a: /);
});
