import { defineConfig } from "tsdown";

export default defineConfig({
  entry: {
    cli: "src/cli/main.ts",
    daemon: "src/daemon/main.ts",
    client: "src/client/client.ts",
    contract: "src/contract/index.ts",
  },
  format: "esm",
  platform: "node",
  target: "node24",
  dts: false,
  clean: true,
  outExtensions: () => ({ js: ".js" }),
});
