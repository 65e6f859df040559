import { describe, expect, it } from "vitest";
import { SkillMatcher } from "../../../src/runtime/skills/matcher.ts";
import { wordsOf } from "../../../src/runtime/skills/words.ts";
import { parsed, simplePage } from "./fixtures.ts";

describe("words", () => {
  it("are whole, without endings and without what says nothing", () => {
    expect(wordsOf("Please deploy the Deployments, deploying deployed things to C++ and planning!")).toEqual([
      "deploy",
      "deployment",
      "thing",
      "c++",
      "plan",
    ]);
    expect(wordsOf("部署服务")).toEqual(["部署", "署服", "服务"]);
  });
});

describe("what a text is about", () => {
  const skills = [
    parsed(simplePage("weather", "Look up current weather conditions and forecasts")),
    parsed(simplePage("food-order", "Order food from nearby restaurants")),
    parsed(simplePage("pdf-forms", "Fill, split and merge PDF forms and documents")),
    parsed(simplePage("art", "Draw pictures in the style of a painter")),
  ];
  const meant = (text: string) =>
    new SkillMatcher(skills)
      .match(text)
      .filter(({ strong }) => strong)
      .map(({ skill }) => skill.name);

  it.each([
    ["what's the weather in Paris?", ["weather"]],
    ["please merge these documents", ["pdf-forms"]],
    ["order some food", ["food-order"]],
    ["can you start the party?", []],
    ["the departed are not forgotten", []],
    ["tell me a joke", []],
    ["", []],
  ])("%j", (text, expected) => {
    expect(meant(text)).toEqual(expected);
  });

  it("is ranked by how rare the words are", () => {
    const [best] = new SkillMatcher(skills).match("a forecast for my documents and restaurants, restaurants nearby");
    expect(best?.skill.name).toBe("food-order");
  });
});
