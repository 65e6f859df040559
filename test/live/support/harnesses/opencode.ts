import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createAcpDriver } from "../../../../src/drivers/acp/driver.ts";
import { opencode as recipe } from "../../../../src/drivers/acp/recipes/opencode.ts";
import { startFakeChat } from "../../fake-chat.ts";
import type { LiveHarness } from "../harness.ts";

/** The platform's own binary: the package's `bin` needs an install script. */
const program = fileURLToPath(
  new URL(`../../node_modules/opencode-${process.platform}-${process.arch}/bin/opencode`, import.meta.url),
);

export const opencode: LiveHarness = {
  harness: "opencode",
  package: "opencode-ai",
  createDriver: (deps) => createAcpDriver(deps, recipe),
  async start() {
    const fake = await startFakeChat();
    return {
      agent: {
        model: "fake/model",
        env: {
          OPENCODE_CONFIG_CONTENT: JSON.stringify(settings(fake.url)),
          OPENCODE_DISABLE_MODELS_FETCH: "1",
          OPENCODE_DISABLE_LSP_DOWNLOAD: "1",
          OPENCODE_DISABLE_DEFAULT_PLUGINS: "1",
        },
        options: { command: program },
      },
      calls: () => fake.requests.filter(({ tools }) => tools?.length).map((request) => JSON.stringify(request)),
      close: fake.close,
    };
  },
  planeTool: (name) => `aegis_${name}`,
  makeFile: (path) => `TOOL write ${JSON.stringify({ filePath: path, content: "made" })}`,
  histories: async ({ home }) => [join(home, ".local", "share", "opencode")],
  expected: {
    denial: "The user rejected permission",
    readsLists: true,
    failures: { 401: "model", 429: "tries again", 529: "tries again" },
  },
};

function settings(url: string) {
  return {
    share: "disabled",
    enabled_providers: ["fake"],
    model: "fake/model",
    small_model: "fake/model",
    provider: {
      fake: {
        npm: "@ai-sdk/openai-compatible",
        name: "Fake",
        options: { baseURL: `${url}/v1`, apiKey: "key-of-no-account" },
        models: {
          model: {
            name: "Model",
            limit: { context: 200_000, output: 8000 },
            attachment: true,
            modalities: { input: ["text", "image"], output: ["text"] },
          },
        },
      },
    },
    permission: { edit: "ask" },
  };
}
