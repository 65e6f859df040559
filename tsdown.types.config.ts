/** Bundles the declarations: one file for each entry of the package, and what entries share in common ones. */
import { defineConfig } from "tsdown";

export default defineConfig({
  entry: {
    "plugin-api/index": "packages/core/plugin-api/src/index.ts",
    "plugin-api/testing/index": "packages/core/plugin-api/src/testing/index.ts",
    "client/index": "packages/clients/client/src/index.ts",
    "client/client": "packages/clients/client/src/client.ts",
    "client/events": "packages/clients/client/src/events.ts",
    "client/state": "packages/clients/client/src/state.ts",
    "client/reduce": "packages/clients/client/src/reduce.ts",
    "client/wait": "packages/clients/client/src/wait.ts",
    "client/wait-task": "packages/clients/client/src/wait-task.ts",
    "client/wait-run": "packages/clients/client/src/wait-run.ts",
    "client/wait-firing": "packages/clients/client/src/wait-firing.ts",
    "client/project": "packages/clients/client/src/project/project.ts",
    "contract/schema": "packages/base/contract/src/schema.ts",
    "contract/index": "packages/base/contract/src/index.ts",
  },
  format: "esm",
  platform: "node",
  deps: { alwaysBundle: [/^@aegis\//] },
  dts: { emitDtsOnly: true, tsconfig: "tsconfig.types.json" },
  outDir: "dist/types",
  clean: true,
  outExtensions: () => ({ dts: ".d.ts", js: ".js" }),
});
