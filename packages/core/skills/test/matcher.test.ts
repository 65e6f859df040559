import { describe, expect, it } from "vitest";
import { SkillMatcher } from "../src/matcher.ts";
import { allWordsOf } from "../src/words.ts";
import { parsed, simplePage } from "./fixtures.ts";

describe("words", () => {
  it("are stems, the same for all forms of a word, without words that carry no meaning", () => {
    expect(allWordsOf("Please deploy the Deployments, deploying deployed things to C++ and planning!")).toEqual([
      "deploi",
      "deploi",
      "deploi",
      "deploi",
      "c++",
      "plan",
    ]);
    expect(allWordsOf("部署服务")).toEqual(["部署", "署服", "服务"]);
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

describe("a request in words of its own", () => {
  const skills = [
    parsed(simplePage("oauth-setup", "Sign-in with OpenID Connect and OAuth")),
    parsed(simplePage("kubernetes", "Operate clusters and debug workloads")),
    parsed(simplePage("release-notes", "Turn merged changes into notes for users")),
    parsed(simplePage("cleaner", "Remove files nobody uses", "tags: [housekeeping, disk]")),
    ...["alpha", "beta", "gamma", "delta"].map((name) => parsed(simplePage(name, `Handles the ${name} protocol`))),
  ];
  const first = (text: string) => new SkillMatcher(skills).match(text).find(({ strong }) => strong)?.skill.name;

  it("is found by another word for the same", () => {
    expect(first("people cannot log in any more")).toBe("oauth-setup");
    expect(first("something is off with k8s")).toBe("kubernetes");
  });

  it("is found with a slip of the pen", () => {
    expect(first("the kubrnetes workloads restart")).toBe("kubernetes");
  });

  it("is found by two everyday words that stand together", () => {
    expect(first("write the release notes")).toBe("release-notes");
  });

  it("is not found by the names of files in a path", () => {
    expect(first("rename the variable in src/kubernetes/cleaner.ts")).toBeUndefined();
  });

  it("is found by the tags", () => {
    expect(first("some housekeeping please")).toBe("cleaner");
  });
});
