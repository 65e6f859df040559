import type { PluginSetting } from "@aegis/contract/plugin.ts";
import { expect, it } from "vitest";
import { resolveConfig } from "../src/config.ts";
import { bareManifest } from "../src/manifest.ts";

const setting = (over: Partial<PluginSetting>): PluginSetting => ({
  type: "string",
  description: "",
  required: false,
  secret: false,
  enum: null,
  ...over,
});
const manifest = {
  ...bareManifest("demo"),
  default_config: { color: "red", size: 1 },
  config_schema: {
    color: setting({ enum: ["red", "green"] }),
    size: setting({ type: "integer" }),
    mode: setting({ default: "quick" }),
    key_env: setting({ description: "the variable of the key" }),
    pass: setting({ secret: true }),
  },
};
const resolve = (values: Record<string, unknown>, env = {}) => resolveConfig(manifest, values, env);
const said = (values: Record<string, unknown>, env = {}) =>
  resolve(values, env).problems.map((one) => `${one.level} ${one.key}: ${one.message}`);

it("what the project says goes over the defaults", () => {
  expect(resolve({ size: 3 }).config).toEqual({ color: "red", size: 3, mode: "quick" });
});

it("keys that name a variable give its value, which is a secret", () => {
  const found = resolve({ key_env: "DEMO_KEY", pass: "hidden-word" }, { DEMO_KEY: "value-of-key" });
  expect(found.config).toMatchObject({ key_env: "value-of-key", key: "value-of-key" });
  expect(found.secrets.sort()).toEqual(["hidden-word", "value-of-key"]);
  expect(found.env).toEqual({ DEMO_KEY: "value-of-key" });
  expect(said({ key_env: "DEMO_KEY" })).toEqual([
    "warning key_env: the variable DEMO_KEY is not set in the daemon's environment",
  ]);
});

it("what is wrong is told, with the nearest name", () => {
  expect(said({ color: "blue", size: "big", colour: "x" })).toEqual([
    'error color: expected one of red, green, found "blue"',
    'error size: expected a whole number, found "big"',
    'warning colour: the plugin has no such setting (did you mean "color"?)',
  ]);
});

it("what is required must be there", () => {
  const needy = { ...bareManifest("demo"), config_schema: { token: setting({ required: true }) } };
  const { problems } = resolveConfig(needy, {}, {});
  expect(problems).toMatchObject([{ level: "error", key: "token", message: "expected text, found nothing" }]);
});
