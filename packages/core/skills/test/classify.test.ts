import { silentLogger } from "@aegis/lib/log.ts";
import { describe, expect, it } from "vitest";
import { type AskModel, Classifier } from "../src/classify.ts";
import { never, parsed, simplePage } from "./fixtures.ts";

const skills = [parsed(simplePage("tea", "Brew tea")), parsed(simplePage("cake", "Bake cakes"))];

function classifier(ask: AskModel, model: string | null = "fake/small") {
  return new Classifier({ model: () => model, ask, log: silentLogger, timeoutMs: 50 });
}

describe("a model that chooses skills", () => {
  it("is shown the list and the message, and believed in names of the list only", async () => {
    const asked: string[] = [];
    const one = classifier(async ({ model, prompt }) => {
      asked.push(`${model}: ${prompt}`);
      return 'Sure: ["cake", "poison", 3]';
    });
    expect((await one.choose("something sweet", skills, never))?.map(({ name }) => name)).toEqual(["cake"]);
    expect(asked).toEqual(["fake/small: Skills:\n- tea: Brew tea\n- cake: Bake cakes\n\nMessage:\nsomething sweet"]);
    await one.choose("something sweet", skills, never);
    expect(asked).toHaveLength(1);
  });

  it.each<[string, AskModel]>([
    ["fails", async () => Promise.reject(new Error("no key"))],
    ["talks nonsense", async () => "I would use tea"],
    ["is too slow", () => new Promise(() => {})],
  ])("counts for nothing when it %s", async (_, ask) => {
    expect(await classifier(ask).choose("x", skills, never)).toBeNull();
  });

  it("is not asked when none is configured", async () => {
    const ask: AskModel = async () => {
      throw new Error("asked");
    };
    expect(await classifier(ask, null).choose("x", skills, never)).toBeNull();
  });
});
