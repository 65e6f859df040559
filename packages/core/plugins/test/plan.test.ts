import type { PluginManifest } from "@aegis/contract/plugin.ts";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { FoundPlugin } from "../src/find.ts";
import { bareManifest } from "../src/manifest.ts";
import { planPlugins } from "../src/plan.ts";

const options = { enabled: true, deny: [], version: "1.0.0" };

function plugin(name: string, manifest: Partial<PluginManifest> = {}): FoundPlugin {
  return {
    name,
    place: `/plugins/${name}`,
    root: `/plugins/${name}`,
    manifest: { ...bareManifest(name), version: "1.0.0", ...manifest },
    modules: [],
    diagnostics: [],
  };
}

const outcome = (plugins: FoundPlugin[], over: Partial<typeof options> = {}) =>
  planPlugins(plugins, { ...options, ...over }).map(
    ({ found, refusal }) => `${found.name}: ${refusal?.reason ?? "ok"}`,
  );

describe("the plan", () => {
  it("puts what is required first and keeps the order apart from that", () => {
    const plugins = [plugin("a", { requires: { c: "^1" } }), plugin("b"), plugin("c")];
    expect(outcome(plugins)).toEqual(["c: ok", "a: ok", "b: ok"]);
  });

  it("refuses circles, missing ones and wrong versions, with those that rely on them", () => {
    const circle = [plugin("a", { requires: { b: "*" } }), plugin("b", { requires: { a: "*" } }), plugin("c")];
    expect(outcome(circle)).toEqual([
      expect.stringContaining("they require each other"),
      expect.stringContaining("a: it requires"),
      "c: ok",
    ]);
    expect(outcome([plugin("a", { requires: { helpr: "*" } }), plugin("helper")])[0]).toBe(
      'a: it requires the plugin "helpr" *, which was not found (did you mean "helper"?)',
    );
    expect(outcome([plugin("b"), plugin("a", { requires: { b: ">=2" } })])[1]).toMatch(
      /requires the plugin "b" >=2, found 1\.0\.0/,
    );
    expect(outcome([plugin("a", { requires_aegis: "^2" })])[0]).toMatch(/requires Aegis \^2; this is 1\.0\.0/);
  });

  it("leaves out what the settings deny, and what relies on it", () => {
    const plugins = [plugin("a"), plugin("b", { requires: { a: "*" } })];
    expect(outcome(plugins, { deny: ["a"] as never })).toEqual([
      "a: plugins.deny names it",
      'b: it requires the plugin "a", which cannot be used: plugins.deny names it',
    ]);
    expect(outcome([plugin("a")], { enabled: false })).toEqual(["a: plugins.enabled is false"]);
  });

  it("whatever requires whatever: every plugin is planned once, after all that it can use", () => {
    const names = ["a", "b", "c", "d", "e"];
    const requires = fc.array(fc.tuple(fc.constantFrom(...names), fc.constantFrom(...names)), { maxLength: 12 });
    fc.assert(
      fc.property(requires, (pairs) => {
        const plugins = names.map((name) =>
          plugin(name, {
            requires: Object.fromEntries(pairs.filter(([from]) => from === name).map(([, to]) => [to, "*"])),
          }),
        );
        const planned = planPlugins(plugins, options);
        expect(planned.map(({ found }) => found.name).sort()).toEqual(names);
        for (const [index, { found, refusal }] of planned.entries()) {
          if (refusal !== null) continue;
          for (const needed of Object.keys(found.manifest?.requires ?? {}))
            expect(planned.slice(0, index).some((one) => one.found.name === needed && one.refusal === null)).toBe(true);
        }
      }),
    );
  });
});
