import { describe, expect, it } from "vitest";
import { findMentions, SkillNames } from "../src/mentions.ts";
import { parsed, simplePage } from "./fixtures.ts";

describe("skills that a message names", () => {
  const skills = [
    parsed(simplePage("Code Review")),
    { ...parsed(simplePage("deploy")), plugin: "ops" },
    parsed(simplePage("secret", "x", "user-invocable: false")),
  ];
  const names = new SkillNames(skills);
  const found = (text: string) =>
    findMentions(text, names).found.map(({ skill, arguments: given }) => [skill.name, given]);

  it.each([
    ["/skill deploy to staging now", [["deploy", "to staging now"]]],
    ["/deploy", [["deploy", ""]]],
    ["/ops:deploy x", [["deploy", "x"]]],
    ["/code-review\nall of it", [["Code Review", "all of it"]]],
    [
      "do $deploy and $code-review.",
      [
        ["deploy", null],
        ["Code Review", null],
      ],
    ],
    ["costs \\$deploy, $DEPLOY and $nothing", []],
    ["see /deploy in the middle", []],
    ["/deploying x", []],
    ["/usr/deploy x", []],
    ["/secret", []],
  ])("%j", (text, expected) => {
    expect(found(text)).toEqual(expected);
  });

  it("are told when /skill names none", () => {
    expect(findMentions("/skill deploi now", names).problem).toBe(
      'there is no skill "deploi" (did you mean "deploy"?)',
    );
    expect(findMentions("/skill secret", names).problem).toBe('the skill "secret" is for agents only');
    expect(findMentions("/compact", names).problem).toBeNull();
  });
});
