import { defineConfig } from "tsdown";

export default defineConfig({
  entry: {
    cli: "src/cli/main.ts",
    daemon: "src/daemon/main.ts",
    client: "src/client/client.ts",
    "client/project": "src/local/project.ts",
    "client/events": "src/client/events.ts",
    "client/state": "src/client/state.ts",
    "client/reduce": "src/client/reduce.ts",
    "client/wait": "src/client/wait.ts",
    "client/wait-task": "src/client/wait-task.ts",
    "client/wait-run": "src/client/wait-run.ts",
    "client/wait-firing": "src/client/wait-firing.ts",
    contract: "src/contract/index.ts",
    "plugin-api": "src/plugin-api/index.ts",
    "plugin-api-bare": "src/plugin-api/bare.ts",
    testing: "src/plugin-api/testing/index.ts",
    "plugin-types": "src/runtime/plugins/worker/strip-main.ts",
    "plugin-worker": "src/runtime/plugins/worker/main.ts",
    "plugin-script": "src/runtime/plugins/install/script-main.ts",
  },
  format: "esm",
  platform: "node",
  target: "node24",
  dts: false,
  clean: true,
  // Loading one file instead of a hundred saves a daemon some megabytes.
  deps: { alwaysBundle: ["zod", /^zod\//] },
  outExtensions: () => ({ js: ".js" }),
});
