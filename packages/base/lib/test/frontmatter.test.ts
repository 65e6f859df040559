import { scaled } from "@aegis/test/helpers/slowness.ts";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { updateFrontmatter, writeFrontmatter } from "../src/frontmatter.ts";
import { readPageFields } from "../src/page-fields.ts";

const known = new Set(["name", "description", "tools", "model"]);
const parseFrontmatter = (text: string) => readPageFields(text, known);

const fieldsOf = (yaml: string) => parseFrontmatter(`---\n${yaml}\n---\nbody`).fields;

describe("reading", () => {
  it.each([
    ["a flow list", "tools: [read, 'grep']", { tools: ["read", "grep"] }],
    ["a block list", "tools:\n  - read\n  - grep", { tools: ["read", "grep"] }],
    ["a block list that is not indented", "tools:\n- read\n- grep", { tools: ["read", "grep"] }],
    ["a comment", "temperature: 0.2 # low", { temperature: 0.2 }],
    ["zero", "temperature: 0", { temperature: 0 }],
    ["folded text", "d: >-\n  one\n  two", { d: "one two" }],
    ["a block with an empty line", "d: |\n  one\n\n  two", { d: "one\n\ntwo\n" }],
    ["words that are no booleans", "a: no\nb: on", { a: "no", b: "on" }],
    ["times", "at: 2024-01-01T00:00:00Z", { at: "2024-01-01T00:00:00Z" }],
    ["nothing", "# only a remark", {}],
  ])("%s", (_, yaml, fields) => {
    expect(fieldsOf(yaml)).toEqual(fields);
  });

  it.each([
    ["Windows line ends", "---\r\nname: x\r\n---\r\nbody\r\n", "body\n"],
    ["a byte order mark", "\uFEFF---\nname: x\n---\nbody", "body"],
    ["spaces after the marks", "---  \nname: x\n--- \t\nbody", "body"],
    ["an end without a line break", "---\nname: x\n---", ""],
    ["marks inside a text", "---\nname: x\n---\nbody\n---\nmore", "body\n---\nmore"],
  ])("%s", (_, text, body) => {
    expect(parseFrontmatter(text)).toMatchObject({
      present: true,
      fields: { name: "x" },
      body,
      repairs: [],
      fault: null,
    });
  });

  it("leaves a text without marks alone", () => {
    expect(parseFrontmatter("# Title\n---\nx")).toMatchObject({ present: false, body: "# Title\n---\nx" });
    expect(parseFrontmatter("----\nname: x\n---\n")).toMatchObject({ present: false });
  });

  it("takes values that people forget to quote, and says so", () => {
    const { fields, repairs } = parseFrontmatter(
      "---\nname: x\ndescription: Use it so: always. <example>a: b</example>\ntools: *\n---\n",
    );
    expect(fields).toEqual({ name: "x", description: "Use it so: always. <example>a: b</example>", tools: "*" });
    expect(repairs.map(({ line, key }) => ({ line, key }))).toEqual([
      { line: 3, key: null },
      { line: 4, key: null },
    ]);
  });

  it.each([
    ["no end", "---\nname: x\n", 1],
    ["too much", `---\na: ${"x".repeat(40_000)}\n---\n`, 1],
    ["endless nesting", `---\na: ${"[".repeat(5_000)}\n---\n`, 1],
    ["endless lists", `---\na:\n  ${"- ".repeat(5_000)}\n---\n`, 1],
    ["a page without an end of its header", "---\nname: x: y\n\n# Title\n\ntext\n---\n", 4],
  ])("%s is told with its line", (_, text, line) => {
    const { fields, fault } = parseFrontmatter(text);
    expect(fields).toEqual({});
    expect(fault).toEqual({ line, message: expect.any(String) });
  });

  it.each([
    ["a list", "---\n- a\n---\n", {}],
    ["keys that are no text", "---\n? [a]\n: b\n---\n", {}],
    ["aliases that unfold without end", bomb(), {}],
    ["an alias inside itself", "---\na: &a [*a]\nname: x\n---\n", { name: "x" }],
  ])("%s costs no time and leaves what can be read", (_, text, fields) => {
    const started = performance.now();
    expect(parseFrontmatter(text).fields).toMatchObject(fields);
    expect(performance.now() - started).toBeLessThan(scaled(1_000));
  });

  it("says which value was guessed", () => {
    const { fields, repairs } = parseFrontmatter("---\nname: x\ntools: [a\nmodel: 'y' z\n---\n");
    expect(fields).toMatchObject({ name: "x", tools: "[a" });
    expect(repairs.map(({ line, key }) => `${line} ${key}`)).toEqual(["3 tools", "4 model"]);
  });

  it.each([
    ["a title above", "# Title\n\n---\nname: x\n---\nbody", "body"],
    ["a remark above", "<!-- made\nby hand -->\n---\nname: x\n---\nbody", "body"],
    ["a fence around it", "```markdown\n---\nname: x\n---\nbody\n```\n", "body\n"],
    ["no first mark", "name: x\n---\nbody", "body"],
  ])("%s is passed over", (_, text, body) => {
    expect(parseFrontmatter(text)).toMatchObject({
      present: true,
      fields: { name: "x" },
      body,
      repairs: [{ line: 1, key: null }],
    });
  });

  it("takes no prose above a line for fields", () => {
    expect(parseFrontmatter("Some prose.\n\n---\nname: x\n---\nbody")).toMatchObject({ present: false });
  });

  it("knows the line of each field and warns of one that comes twice", () => {
    const { fields, lineOf, repairs } = parseFrontmatter("---\n# a\nname: x\nmodel: y\nname: z\n---\n");
    expect(fields.name).toBe("z");
    expect([lineOf("model"), lineOf("absent")]).toEqual([4, 1]);
    expect(repairs).toEqual([{ line: 5, message: expect.stringContaining('"name" once'), key: "name" }]);
  });

  it("a key called __proto__ reaches no prototype", () => {
    const fields = fieldsOf("__proto__: { polluted: true }");
    expect(({} as Record<string, unknown>).polluted).toBeUndefined();
    expect(Object.hasOwn(fields, "polluted")).toBe(false);
  });
});

describe("writing", () => {
  const value = fc.oneof(
    fc.string(),
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.boolean(),
    fc.array(fc.string()),
  );
  const fields = fc.dictionary(fc.stringMatching(/^[a-z_]{1,12}$/), value, { noNullPrototype: true, maxKeys: 6 });

  it("gives back whatever was written", () => {
    fc.assert(
      fc.property(fields, fc.string(), (written, body) => {
        const back = parseFrontmatter(writeFrontmatter(written, body));
        expect(back.repairs).toEqual([]);
        expect(back.fields).toEqual(written);
        expect(back.body.trim()).toBe(body.trim());
      }),
    );
  });

  it("lets no value become a field", () => {
    const description = 'a"\ntools: ["bash"]\n---\nx: "';
    expect(parseFrontmatter(writeFrontmatter({ description }, "hi")).fields).toEqual({ description });
  });

  it("changes single fields and keeps comments, order, line ends and body", () => {
    const text = "---\r\n# who\r\nname: x # here\r\ntools: [a, b]\r\n---\r\n\r\nbody: kept  \r\n";
    expect(updateFrontmatter(text, { name: "y", tools: undefined, at: "1" })).toBe(
      '---\r\n# who\r\nname: y # here\r\nat: "1"\r\n---\r\n\r\nbody: kept  \r\n',
    );
  });

  it("refuses to change what it cannot read", () => {
    expect(() => updateFrontmatter("---\na: [\n---\n", { a: 1 })).toThrow();
    expect(() => updateFrontmatter("---\na: 1\n", { a: 1 })).toThrow("second ---");
  });
});

function bomb(): string {
  const levels = Array.from({ length: 9 }, (_, index) => {
    const items = index === 0 ? "x" : `*l${index - 1}`;
    return `l${index}: &l${index} [${Array.from({ length: 9 }, () => items).join(", ")}]`;
  });
  return `---\n${levels.join("\n")}\n---\n`;
}
