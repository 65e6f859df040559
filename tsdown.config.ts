import { buildWeb } from "@aegis/web/build.ts";
import { defineConfig, type Rolldown, type UserConfig } from "tsdown";

/**
 * Escapes characters outside ASCII. V8 keeps a source with one character outside Latin-1 in two bytes per character for
 * as long as the process runs. The escape means the same in strings, templates and regular expressions.
 */
const asciiOnly: Rolldown.Plugin = {
  name: "ascii-only",
  // After minification, which prints strings unescaped.
  generateBundle(_options, bundle) {
    for (const file of Object.values(bundle)) if (file.type === "chunk") file.code = file.code.replace(wide, escaped);
  },
};
const wide = /[\u0080-\uffff]/g;

function escaped(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

const common: UserConfig = {
  format: "esm",
  platform: "node",
  target: "node24",
  dts: false,
  // What every start loads: one file instead of a hundred saves a fifth of the time and some megabytes. Users do not
  // install these packages again; `test/package/manifest.test.ts` compares.
  deps: { alwaysBundle: [/^@aegis\//, /^(?:zod|yaml|semver|commander|croner|stemmer|smol-toml)(?:\/|$)/] },
  outExtensions: () => ({ js: ".js" }),
  plugins: [asciiOnly],
  treeshake: { moduleSideEffects: [{ test: /packages\/core\/plugin-api\/src\/index\.ts$/, sideEffects: false }] },
  // What the grouping below needs. No entry gets more exports than its source declares.
  inputOptions: { preserveEntrySignatures: "allow-extension" },
  // The daemon converts JSON schemas, but needs no locale of zod. Plugins get all of them with `z`.
  outputOptions: {
    // V8 keeps the source of every loaded file in memory, comments included.
    comments: { legal: true, annotation: true, jsdoc: false },
    codeSplitting: {
      includeDependenciesRecursively: false,
      groups: [{ name: "zod-from-json-schema", test: /zod\/v4\/classic\/(?:from-json-schema|checks|iso)\.js$/ }],
    },
  },
};

export default defineConfig([
  {
    ...common,
    entry: {
      cli: "packages/clients/cli/src/main.ts",
      client: "packages/clients/client/src/index.ts",
      "client/browser": "packages/clients/client/src/browser.ts",
      schema: "packages/base/contract/src/schema.ts",
      // Plugins and their workers.
      "plugin-api": "packages/core/plugin-api/src/index.ts",
      "plugin-api-bare": "packages/core/plugin-api/src/bare.ts",
      testing: "packages/core/plugin-api/src/testing/index.ts",
      "plugin-types": "packages/core/plugins/src/worker/strip-main.ts",
      "plugin-worker": "packages/core/plugins/src/worker/main.ts",
      "plugin-guard": "packages/core/plugins/src/worker/guard-main.ts",
      "plugin-script": "packages/daemon/installer/src/plugin/script-main.ts",
      "sandbox-launcher": "packages/base/sandbox/src/bubblewrap/launcher.ts",
    },
    clean: true,
    // Last, because `clean` empties the whole folder.
    hooks: { "build:done": () => buildWeb() },
  },
  // A build of its own has no chunks that other entries share: a daemon loads a third of the files.
  { ...common, entry: { daemon: "packages/daemon/daemon/src/main.ts" }, clean: false },
]);
