import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { fileURLToPath } from "node:url";
import { createAcpDriver } from "@aegis/drivers/acp/driver.ts";
import { opencode as recipe } from "@aegis/drivers/acp/recipes/opencode.ts";
import { startFakeChat } from "../../fake-chat.ts";
import type { LiveHarness } from "../harness.ts";
import { openCodeEnv, openCodeSettings } from "../opencode-settings.ts";

/** The platform's own binary: the package's `bin` needs an install script. */
const program = fileURLToPath(
  new URL(`../../node_modules/opencode-${process.platform}-${process.arch}/bin/opencode`, import.meta.url),
);

const sees = { attachment: true, modalities: { input: ["text", "image"], output: ["text"] } };

export const opencode: LiveHarness = {
  harness: "opencode",
  package: "opencode-ai",
  createDriver: (deps) => createAcpDriver(deps, recipe),
  async start() {
    const fake = await startFakeChat();
    return {
      agent: {
        model: "fake/model",
        env: openCodeEnv({ ...openCodeSettings(fake.url, { model: sees }), permission: { edit: "ask" } }),
        options: { command: program },
      },
      calls: () => fake.requests.filter(({ tools }) => tools?.length).map((request) => JSON.stringify(request)),
      close: fake.close,
    };
  },
  planeTool: (name) => `aegis_${name}`,
  makeFile: (path) => `TOOL write ${JSON.stringify({ filePath: path, content: "made" })}`,
  histories: async ({ home }) => [join(home, ".local", "share", "opencode")],
  async prompts({ home }) {
    const database = new DatabaseSync(join(home, ".local", "share", "opencode", "opencode.db"), { readOnly: true });
    try {
      const texts = database.prepare(
        `SELECT part.data ->> '$.text' AS text FROM part JOIN message ON message.id = part.message_id
          WHERE message.data ->> '$.role' = 'user' AND part.data ->> '$.type' = 'text' ORDER BY part.time_created`,
      );
      return texts.all().map(({ text }) => String(text));
    } finally {
      database.close();
    }
  },
  expected: {
    denial: "The user rejected permission",
    readsLists: true,
    failures: { 401: "model", 429: "tries again", 529: "tries again" },
  },
};
