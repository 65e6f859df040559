import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createCodexDriver } from "@aegis/drivers/codex/driver.ts";
import { startFakeOpenAi } from "../../fake-openai.ts";
import type { LiveHarness } from "../harness.ts";
import { newestRows, textsIn } from "../own-record.ts";

/** The platform's own binary: the package's `bin` is a script that starts it. */
const triple = `${process.arch === "arm64" ? "aarch64" : "x86_64"}-unknown-linux-musl`;
export const codexProgram = fileURLToPath(
  new URL(`../../node_modules/@openai/codex-linux-${process.arch}/vendor/${triple}/bin/codex`, import.meta.url),
);

export const codex: LiveHarness = {
  harness: "codex",
  package: "@openai/codex",
  createDriver: createCodexDriver,
  async start(folder) {
    const fake = await startFakeOpenAi();
    const home = join(folder, "codex-home");
    await mkdir(home);
    await writeFile(join(home, "config.toml"), codexSettings(fake.url));
    return {
      agent: {
        model: null,
        env: { CODEX_HOME: home, FAKE_KEY: "key-of-no-account" },
        options: { command: codexProgram },
      },
      calls: () => fake.requests.filter(({ tools }) => tools?.length).map((request) => JSON.stringify(request)),
      close: fake.close,
    };
  },
  planeTool: (name) => `mcp__aegis/${name}`,
  makeFile: (path) =>
    `TOOL exec_command ${JSON.stringify({ cmd: `touch ${path}`, sandbox_permissions: "require_escalated", justification: "must" })}`,
  histories: async ({ folder }) => [join(folder, "codex-home", "sessions")],
  async prompts(places) {
    const rows = await newestRows(await codex.histories(places));
    const items = rows
      .filter(({ type }) => type === "response_item")
      .map(({ payload }) => payload as { role?: string });
    return items.filter(({ role }) => role === "user").flatMap(textsIn);
  },
  expected: {
    denial: "rejected by user",
    denialRaces: true,
    readsLists: true,
    failures: { 401: "not_logged_in", 429: "rate_limited", 529: "overloaded" },
  },
};

export function codexSettings(url: string): string {
  return [
    'model = "gpt-5.5"',
    'model_provider = "fake"',
    "[model_providers.fake]",
    'name = "fake"',
    `base_url = "${url}"`,
    'wire_api = "responses"',
    'env_key = "FAKE_KEY"',
    "request_max_retries = 0",
    "stream_max_retries = 0",
  ].join("\n");
}
