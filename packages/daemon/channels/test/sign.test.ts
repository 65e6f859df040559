import { createHmac } from "node:crypto";
import { describe, expect, it } from "vitest";
import { signature, verifyGithub, verifyStandard } from "../src/webhooks/sign.ts";

const secret = `whsec_${Buffer.alloc(32, 7).toString("base64")}`;
const now = 1_700_000_000_000;
const at = now / 1000;
const body = Buffer.from('{"type":"turn.ended","text":"Grüße 🎉"}');
const headers = {
  "webhook-id": "evt_1",
  "webhook-timestamp": String(at),
  "webhook-signature": signature(secret, "evt_1", at, body),
};

describe("the standard scheme", () => {
  it("signs id, time and body with the decoded secret", () => {
    const key = Buffer.alloc(32, 7);
    const expected = createHmac("sha256", key).update(`evt_1.${at}.`).update(body).digest("base64");
    expect(headers["webhook-signature"]).toBe(`v1,${expected}`);
  });

  it("accepts its own signature, also beside others", () => {
    expect(verifyStandard(secret, headers, body, now)).toBe("evt_1");
    const several = { ...headers, "webhook-signature": `v1a,xxxx v1,AAAA ${headers["webhook-signature"]}` };
    expect(verifyStandard(secret, several, body, now)).toBe("evt_1");
  });

  it.each([
    ["a changed byte", headers, Buffer.concat([body, Buffer.from(" ")]), now],
    ["bytes that are no UTF-8", headers, Buffer.from([0xff, 0xfe]), now],
    ["another id", { ...headers, "webhook-id": "evt_2" }, body, now],
    ["an id with a full stop", { ...headers, "webhook-id": `evt_1.${at}` }, body, now],
    ["a time that is no number", { ...headers, "webhook-timestamp": `${at}abc` }, body, now],
    ["an old request", headers, body, now + 301_000],
    ["a request from the future", headers, body, now - 301_000],
    ["no signature", { ...headers, "webhook-signature": undefined }, body, now],
    ["an empty signature", { ...headers, "webhook-signature": "v1," }, body, now],
  ])("refuses %s", (_, given, bytes, time) => {
    expect(verifyStandard(secret, given, bytes, time)).toBeNull();
  });
});

describe("GitHub's scheme", () => {
  // The example of GitHub's documentation.
  const example = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";

  it("accepts the documented example and uses the signature as the key", () => {
    const given = { "x-hub-signature-256": example };
    expect(verifyGithub("It's a Secret to Everybody", given, Buffer.from("Hello, World!"))).toBe(example);
  });

  it("refuses another body, another secret and no header", () => {
    const given = { "x-hub-signature-256": example };
    expect(verifyGithub("It's a Secret to Everybody", given, Buffer.from("Hello, World?"))).toBeNull();
    expect(verifyGithub("another", given, Buffer.from("Hello, World!"))).toBeNull();
    expect(verifyGithub("another", {}, Buffer.from("Hello, World!"))).toBeNull();
  });
});
