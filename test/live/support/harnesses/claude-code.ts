import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createClaudeCodeDriver } from "@aegis/drivers/claude-code/driver.ts";
import { startFakeAnthropic } from "../../fake-anthropic.ts";
import type { LiveHarness } from "../harness.ts";
import { newestRows, textsIn } from "../own-record.ts";

/** The platform's own binary: the package's `bin` needs an install script. */
export const claudeProgram = fileURLToPath(
  new URL(`../../node_modules/@anthropic-ai/claude-code-${process.platform}-${process.arch}/claude`, import.meta.url),
);

export const claudeCode: LiveHarness = {
  harness: "claude-code",
  package: "@anthropic-ai/claude-code",
  createDriver: createClaudeCodeDriver,
  async start() {
    const fake = await startFakeAnthropic();
    return {
      agent: {
        model: "claude-sonnet-4-5",
        env: {
          ANTHROPIC_API_KEY: "key-of-no-account",
          ANTHROPIC_BASE_URL: fake.url,
          CLAUDE_CODE_MAX_RETRIES: "0",
        },
        options: { command: claudeProgram },
      },
      calls: () => fake.requests.filter(({ tools }) => tools?.length).map((request) => JSON.stringify(request)),
      close: fake.close,
    };
  },
  planeTool: (name) => `mcp__aegis__${name}`,
  makeFile: (path) => `TOOL Bash ${JSON.stringify({ command: `touch ${path}`, description: "makes a file" })}`,
  histories: async ({ home }) => [join(home, ".claude", "projects")],
  async prompts(places) {
    const rows = await newestRows(await claudeCode.histories(places));
    return rows.filter(({ type }) => type === "user").flatMap(({ message }) => textsIn(message));
  },
  expected: {
    denial: "not on my watch",
    readsLists: true,
    failures: { 401: "not_logged_in", 429: "rate_limited", 529: "overloaded" },
  },
};
