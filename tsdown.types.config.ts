/** Bundles the declarations: one file for each entry of the package, and what entries share in common ones. */
import { defineConfig } from "tsdown";

export default defineConfig({
  entry: {
    "plugin-api/index": "packages/core/plugin-api/src/index.ts",
    "plugin-api/testing/index": "packages/core/plugin-api/src/testing/index.ts",
    "client/index": "packages/clients/client/src/index.ts",
    "contract/schema": "packages/base/contract/src/schema.ts",
  },
  format: "esm",
  platform: "node",
  deps: { alwaysBundle: [/^@aegis\//] },
  dts: { emitDtsOnly: true, tsconfig: "tsconfig.types.json" },
  outDir: "dist/types",
  clean: true,
  outExtensions: () => ({ dts: ".d.ts", js: ".js" }),
});
