import { describe, expect, it } from "vitest";
import { hostRuleText, matchingRule, normalHost, parseHostRule } from "../src/host-rules.ts";

describe("a rule for hosts", () => {
  it.each([
    ["api.example.com", "api.example.com"],
    ["API.Example.com.", "api.example.com"],
    ["*.Internal.example.com:443", "*.internal.example.com:443"],
    ["localhost:5432", "localhost:5432"],
    ["10.1.2.3:80", "10.1.2.3:80"],
    ["[::1]:80", "[::1]:80"],
    ["bücher.example", "xn--bcher-kva.example"],
  ])("%s means %s", (text, meaning) => {
    const rule = parseHostRule(text);
    expect(typeof rule === "string" ? rule : hostRuleText(rule)).toBe(meaning);
  });

  it.each([
    "",
    "*",
    "*.com",
    "*.1.2.3.4",
    "http://a.example",
    "a.example/b",
    "a b",
    "a.example:0",
    "a:99999",
    "localhost",
    "127.0.0.1",
    "u@a.example",
  ])("refuses %j", (text) => {
    expect(parseHostRule(text)).toEqual(expect.stringMatching(/^expected /));
  });

  it.each([
    ["a.example", "a.example", 443, true],
    ["a.example", "a.example", 80, true],
    ["a.example", "a.example", 22, false],
    ["a.example", "b.a.example", 443, false],
    ["a.example:22", "a.example", 22, true],
    ["a.example:22", "a.example", 443, false],
    ["*.a.example", "b.a.example", 443, true],
    ["*.a.example", "a.example", 443, false],
    ["*.a.example", "xa.example", 443, false],
  ])("%s and %s:%i: %s", (text, host, port, expected) => {
    const rule = parseHostRule(text);
    expect(matchingRule(typeof rule === "string" ? [] : [rule], host, port) !== null).toBe(expected);
  });

  it.each([
    ["2130706433", "127.0.0.1"],
    ["127.1", "127.0.0.1"],
    ["0x7f.1", "127.0.0.1"],
    ["::ffff:127.0.0.1", "127.0.0.1"],
    ["[::FFFF:7f00:1]", "127.0.0.1"],
    ["LOCALHOST.", "localhost"],
    ["a/b", null],
    ["", null],
  ])("%s is %s", (text, expected) => {
    expect(normalHost(text)).toBe(expected);
  });
});
