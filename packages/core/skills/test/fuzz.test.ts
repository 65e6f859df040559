import { readQuickHeader } from "@aegis/lib/frontmatter.ts";
import fc from "fast-check";
import { expect, it } from "vitest";
import { headerProperties } from "../../../../fuzz/skill-headers.ts";

it.each(headerProperties)("$name", ({ property }) => {
  fc.assert(property, { numRuns: 1_000, seed: 42 });
});

it("reads the headers that nearly all skills have without a YAML parser", () => {
  const yaml = [
    "name: release-notes",
    'description: "How we write: release notes"',
    "license: MIT",
    "version: 1.2.3",
    "user-invocable: false",
    "tags: [a, b]",
    "metadata:",
    "  openclaw:",
    "    requires:",
    "      bins: [git]",
    "      env:",
    "        - KEY",
    'extra: {"a":{"b":[1,true,null]}}',
    "temperature: 0",
    "weight: 0.7",
    "created_at: 2024-01-01T00:00:00.000Z",
    "counts: [1, 2]",
  ].join("\n");
  expect(readQuickHeader(yaml)?.fields).toEqual({
    name: "release-notes",
    description: "How we write: release notes",
    license: "MIT",
    version: "1.2.3",
    "user-invocable": false,
    tags: ["a", "b"],
    metadata: { openclaw: { requires: { bins: ["git"], env: ["KEY"] } } },
    extra: { a: { b: [1, true, null] } },
    temperature: 0,
    weight: 0.7,
    created_at: "2024-01-01T00:00:00.000Z",
    counts: [1, 2],
  });
});
