// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references to variables look like placeholders of templates
import { describe, expect, it } from "vitest";
import { expandVariables, isKeptSecret, referenceFault, variablesIn } from "../src/variables.ts";

const env = { KEY: "value", EMPTY: "", HOST: "example.org" };

describe("a text with variables", () => {
  it.each([
    ["plain $KEY and {KEY}", "plain $KEY and {KEY}", []],
    ["${KEY}", "value", []],
    ["https://${HOST}/${KEY}", "https://example.org/value", []],
    ["$${KEY}", "${KEY}", []],
    ["$$${KEY}", "$${KEY}", []],
    ["${NONE} ${EMPTY} ${KEY}", "${NONE} ${EMPTY} value", ["NONE", "EMPTY"]],
  ])("%s", (text, expected, missing) => {
    expect(expandVariables(text, env)).toEqual({ text: expected, missing });
  });

  it("does not expand what a value brings in", () => {
    expect(expandVariables("${OUTER}", { OUTER: "${KEY}", KEY: "x" }).text).toBe("${KEY}");
  });

  it("names each of them once, wherever they stand", () => {
    expect(variablesIn({ a: ["${KEY}", { b: "x${HOST}${KEY}" }], c: 3, d: "$${NOT}" })).toEqual(["KEY", "HOST"]);
  });

  it.each(["${}", "${a-b}", "${X:-y}", "${1A}", "${OPEN", "ok ${KEY} ${ X }"])("is refused when it is %s", (text) => {
    expect(referenceFault(text)).toMatch(/^expected the name of a variable in \$\{…\}, found "\$\{/);
  });

  it("is accepted otherwise", () => {
    expect(["${KEY}", "$${anything at all}", "$5 {x}", "a $ {KEY}"].map(referenceFault)).toEqual([
      null,
      null,
      null,
      null,
    ]);
  });

  it("gives secrets, except for the variables of every process", () => {
    expect(["HOME", "PATH", "LC_ALL", "XDG_CONFIG_HOME"].map(isKeptSecret)).toEqual([false, false, false, false]);
    expect(["DEPLOY", "HOMEKEY", "API_TOKEN"].map(isKeptSecret)).toEqual([true, true, true]);
  });
});
