import { defineConfig, type Rolldown, type UserConfig } from "tsdown";
import { buildWeb } from "./web/build.ts";

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
  // What every start loads: one file instead of a hundred saves a fifth of the time and some megabytes.
  deps: { alwaysBundle: [/^(?:zod|yaml|semver|commander|croner|stemmer|smol-toml)(?:\/|$)/] },
  outExtensions: () => ({ js: ".js" }),
  plugins: [asciiOnly],
  treeshake: { moduleSideEffects: [{ test: /src\/plugin-api\/index\.ts$/, sideEffects: false }] },
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
      cli: "src/cli/main.ts",
      client: "src/client/index.ts",
      "client/browser": "src/client/browser.ts",
      schema: "src/contract/schema.ts",
      // The entries below keep the paths of version 0.1 working; `aegis/client` and `aegis/schema` have all of it.
      "client/project": "src/client/project/project.ts",
      "client/events": "src/client/events.ts",
      "client/state": "src/client/state.ts",
      "client/reduce": "src/client/reduce.ts",
      "client/wait": "src/client/wait.ts",
      "client/wait-task": "src/client/wait-task.ts",
      "client/wait-run": "src/client/wait-run.ts",
      "client/wait-firing": "src/client/wait-firing.ts",
      contract: "src/contract/index.ts",
      // Plugins and their workers.
      "plugin-api": "src/plugin-api/index.ts",
      "plugin-api-bare": "src/plugin-api/bare.ts",
      testing: "src/plugin-api/testing/index.ts",
      "plugin-types": "src/runtime/plugins/worker/strip-main.ts",
      "plugin-worker": "src/runtime/plugins/worker/main.ts",
      "plugin-guard": "src/runtime/plugins/worker/guard-main.ts",
      "plugin-script": "src/packages/plugin/script-main.ts",
    },
    clean: true,
    // Last, because `clean` empties the whole folder.
    hooks: { "build:done": () => buildWeb() },
  },
  // A build of its own has no chunks that other entries share: a daemon loads a third of the files.
  { ...common, entry: { daemon: "src/daemon/main.ts" }, clean: false },
]);
