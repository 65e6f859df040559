import { existsSync } from "node:fs";
import { mkdir, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createAcpDriver } from "@aegis/drivers/acp/driver.ts";
import { gemini as recipe } from "@aegis/drivers/acp/recipes/gemini.ts";
import { geminiTools, startFakeGemini } from "../../fake-gemini.ts";
import type { LiveHarness } from "../harness.ts";
import { newestRows, textsIn } from "../own-record.ts";

const program = fileURLToPath(new URL("../../node_modules/@google/gemini-cli/bundle/gemini.js", import.meta.url));

export const gemini: LiveHarness = {
  harness: "gemini",
  package: "@google/gemini-cli",
  createDriver: (deps) => createAcpDriver(deps, recipe),
  async start(folder) {
    const fake = await startFakeGemini();
    const home = join(folder, "gemini-user");
    await mkdir(join(home, ".gemini"), { recursive: true });
    // It would try ten times, which takes minutes.
    await writeFile(join(home, ".gemini", "settings.json"), JSON.stringify({ general: { maxAttempts: 1 } }));
    return {
      agent: {
        model: "gemini-2.5-pro",
        env: { GEMINI_API_KEY: "key-of-no-account", GOOGLE_GEMINI_BASE_URL: fake.url, GEMINI_CLI_HOME: home },
        options: { command: [process.execPath, program] },
      },
      calls: () =>
        fake.requests.filter((request) => geminiTools(request).length > 0).map((request) => JSON.stringify(request)),
      close: fake.close,
    };
  },
  planeTool: (name) => `mcp_aegis_${name}`,
  makeFile: (path) => `TOOL write_file ${JSON.stringify({ file_path: path, content: "made" })}`,
  async histories({ state }) {
    const conversations = join(state, "conversations");
    const sessions = await readdir(conversations);
    return sessions
      .map((session) => join(conversations, session, "gemini-home", ".gemini", "tmp"))
      .filter((path) => existsSync(path));
  },
  async prompts(places) {
    const rows = await newestRows(await gemini.histories(places));
    return rows.filter(({ type }) => type === "user").flatMap(textsIn);
  },
  expected: {
    denial: "was canceled by the user",
    // It takes text that is JSON for a structured answer, and of those only objects are valid.
    readsLists: true,
    failures: { 401: "not_logged_in", 429: "rate_limited", 529: "overloaded" },
  },
};
