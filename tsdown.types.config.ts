/** Bundles the declarations: one file for each entry of the package, and what entries share in common ones. */
import { defineConfig } from "tsdown";

export default defineConfig({
  entry: {
    "plugin-api/index": "src/plugin-api/index.ts",
    "plugin-api/testing/index": "src/plugin-api/testing/index.ts",
    "client/index": "src/client/index.ts",
    "client/client": "src/client/client.ts",
    "client/events": "src/client/events.ts",
    "client/state": "src/client/state.ts",
    "client/reduce": "src/client/reduce.ts",
    "client/wait": "src/client/wait.ts",
    "client/wait-task": "src/client/wait-task.ts",
    "client/wait-run": "src/client/wait-run.ts",
    "client/wait-firing": "src/client/wait-firing.ts",
    "client/project": "src/client/project/project.ts",
    "contract/schema": "src/contract/schema.ts",
    "contract/index": "src/contract/index.ts",
  },
  format: "esm",
  platform: "node",
  dts: { emitDtsOnly: true, tsconfig: "tsconfig.types.json" },
  outDir: "dist/types",
  clean: true,
  outExtensions: () => ({ dts: ".d.ts", js: ".js" }),
});
