import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { tempDir } from "@aegis/test/helpers/temp-dir.ts";
import { describe, expect, it } from "vitest";
import { readManifest } from "../src/manifest.ts";

async function read(files: Record<string, string>) {
  const dir = await tempDir();
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(dir, path)), { recursive: true });
    writeFileSync(join(dir, path), text);
  }
  const { manifest, diagnostics } = await readManifest(dir);
  return {
    manifest,
    said: diagnostics.map((one) => `${one.level} ${one.file}:${one.line ?? "-"} ${one.message}`),
  };
}

const toml = (text: string) => read({ "plugin.toml": text });
const json = (value: unknown) => read({ "plugin.json": JSON.stringify(value, null, 2) });

describe("plugin.toml", () => {
  it("reads what a plugin says about itself", async () => {
    const { manifest, said } = await toml(
      '[plugin]\nname = "my-plugin"\nversion = "0.1.0"\ndescription = "Short."\nrequires_aegis = ">=0.1"\n' +
        'critical = true\n\n[default_config]\nknob = "x"\n\n[requires]\nother = "^1"\n\n[config_schema.knob]\ntype = "string"\n',
    );
    expect(said).toEqual([]);
    expect(manifest).toMatchObject({
      name: "my-plugin",
      version: "0.1.0",
      description: "Short.",
      requires_aegis: ">=0.1",
      requires: { other: "^1" },
      critical: true,
      default_config: { knob: "x" },
      config_schema: { knob: { type: "string", required: false } },
      format: "plugin.toml",
      has_modules: true,
    });
  });

  it.each([
    ["a syntax error", '[plugin]\nname = "a\n', /^error plugin\.toml:2 expected TOML: /],
    ["no [plugin] table", 'name = "a"\n', /^error plugin\.toml:1 expected a table \[plugin\]/],
    ["no name", '[plugin]\nversion = "1.0.0"\n', /name: expected lower-case letters.*found nothing/],
    ["a name with a path", '[plugin]\nname = "../x"\nversion = "1.0.0"\n', /^error plugin\.toml:2 name: .*such as "x"/],
    ["a reserved name", '[plugin]\nname = "deny"\nversion = "1.0.0"\n', /^error plugin\.toml:2 name: "deny" is a key/],
    ["no version", '[plugin]\nname = "a"\n', /version: expected a version such as 1\.2\.3, found nothing/],
    ["a version that is a path", '[plugin]\nname = "a"\nversion = "../../x"\n', /^error plugin\.toml:3 version: /],
    ["a version that is a number", '[plugin]\nname = "a"\nversion = 1\n', /^error plugin\.toml:3 version: .*found 1$/],
    [
      "a bad range",
      '[plugin]\nname = "a"\nversion = "1.0.0"\nrequires_aegis = "soon"\n',
      /^error plugin\.toml:4 requires_aegis/,
    ],
    [
      "a bad requirement",
      '[plugin]\nname = "a"\nversion = "1.0.0"\n[requires]\nb = "x.y.z.q"\n',
      /^error plugin\.toml:5 requires\.b/,
    ],
  ])("refuses %s and says where", async (_, text, message) => {
    const { manifest, said } = await toml(text);
    expect(manifest).toBeNull();
    expect(
      said.find((line) => message.test(line)),
      said.join("\n"),
    ).toBeDefined();
  });

  it("names the nearest key of one it does not know, and goes on", async () => {
    const { manifest, said } = await toml('[plugin]\nname = "a"\nversion = "1.0.0"\ndescripton = "x"\n');
    expect(manifest?.name).toBe("a");
    expect(said).toEqual([
      'warning plugin.toml:4 descripton: no such key (did you mean "description"?); it has no effect',
    ]);
  });
});

describe("plugin.json", () => {
  it("takes id as the name, and the settings in all shapes", async () => {
    const { manifest, said } = await json({
      id: "my-plugin",
      name: "My Plugin",
      version: "1.0.0",
      config_schema: {
        api_key_env: { type: "string", description: "the variable" },
        mode: {
          type: "choice",
          choices: [
            { label: "A", value: "a" },
            { label: "B", value: "b" },
          ],
          default: "a",
        },
      },
    });
    expect(said).toEqual([]);
    expect(manifest).toMatchObject({ name: "my-plugin", title: "My Plugin" });
    expect(manifest?.config_schema.mode).toMatchObject({ enum: ["a", "b"], default: "a" });
    const schema = { type: "object", properties: { n: { type: "integer" } }, required: ["n"] };
    for (const config of [{ config: { schema } }, { config: schema }, { config_schema: schema }])
      expect((await json({ name: "a", ...config })).manifest?.config_schema.n).toMatchObject({ required: true });
  });

  it("leaves out a tool that cannot be, and keeps the others", async () => {
    const { manifest, said } = await json({
      name: "a",
      tools: [
        { name: "good", description: "d", command: "node", args: ["t.js"], timeout: 500, schema: { type: "object" } },
        { name: "good", description: "d", command: "node" },
        { name: "no command", command: "x" },
        { name: "nothing", description: "d" },
        { name: "slow", description: "d", command: "x", timeout: "fast" },
        "text",
      ],
    });
    expect(manifest?.tools).toEqual([expect.objectContaining({ name: "good", timeout_ms: 500, permission: "full" })]);
    const undeclared = said.filter((line) => line.includes("declares no permission"));
    expect(undeclared).toHaveLength(2);
    expect(said).toHaveLength(5 + undeclared.length);
    expect(said.every((line) => line.startsWith("warning plugin.json:"))).toBe(true);
  });

  it("tells the line of a syntax error", async () => {
    const { manifest, said } = await read({ "plugin.json": '{\n  "name": "a",\n  oops\n}' });
    expect(manifest).toBeNull();
    expect(said[0]).toMatch(/^error plugin\.json:3 expected JSON/);
  });

  it.each(["[]", "null", '"x"', "12"])("refuses %s", async (text) => {
    expect((await read({ "plugin.json": text })).said).toEqual(["error plugin.json:1 expected a map at the top"]);
  });
});

describe("plugins of other programs", () => {
  it("takes the folders of a Claude Code plugin and says what is not run", async () => {
    const { manifest, said } = await read({
      ".claude-plugin/plugin.json": JSON.stringify({ name: "tools", agents: "./team", hooks: "./hooks/hooks.json" }),
    });
    expect(manifest).toMatchObject({
      name: "tools",
      format: "claude-code",
      has_modules: false,
      folders: { agents: ["team"], commands: ["commands"], skills: ["skills"] },
    });
    expect(said).toEqual([expect.stringContaining("hooks: has no effect here")]);
  });

  it("keeps paths inside the plugin", async () => {
    const text = JSON.stringify({ name: "tools", commands: ["./../../etc"] });
    expect((await read({ ".claude-plugin/plugin.json": text })).manifest).toBeNull();
  });

  it("knows Agent Plugins by their schema", async () => {
    const { manifest } = await json({
      $schema: "https://agent-plugins.org/schemas/1.0.0/plugin.schema.json",
      name: "com.example",
    });
    expect(manifest).toMatchObject({ format: "agent-plugin", has_modules: false, folders: { skills: ["skills"] } });
  });
});

it("gives nothing for a folder without a manifest", async () => {
  expect(await read({ "a.ts": "" })).toEqual({ manifest: null, said: [] });
});
