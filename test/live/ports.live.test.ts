/**
 * No CLI that the daemon drives listens on a port where a stranger gets an answer: behind such a port every local
 * program, and a web page behind a rebound name, could command the agent. kilo, qwen and goose are checked where they
 * are installed: `npm install --no-save @kilocode/cli-linux-x64 @qwen-code/qwen-code @aaif/goose` in a folder that
 * AEGIS_LIVE_CLIS names.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { createSession } from "../helpers/talk.ts";
import { startFakeChat } from "./fake-chat.ts";
import type { LiveHarness } from "./support/harness.ts";
import { claudeCode } from "./support/harnesses/claude-code.ts";
import { codex } from "./support/harnesses/codex.ts";
import { gemini } from "./support/harnesses/gemini.ts";
import { opencode } from "./support/harnesses/opencode.ts";
import { openCodeEnv, openCodeSettings } from "./support/opencode-settings.ts";
import { answersToStrangers, listeningPorts } from "./support/ports.ts";
import { turnFor } from "./support/talk.ts";
import { liveTeam } from "./support/team.ts";

const packages = join(process.env.AEGIS_LIVE_CLIS ?? "/nowhere", "node_modules");

/** A CLI that speaks with the same fake model as OpenCode. */
function other(harness: string, command: readonly [string, ...string[]], env: (url: string) => Record<string, string>) {
  const start: LiveHarness["start"] = async () => {
    const fake = await startFakeChat();
    const agent = { model: null, env: env(fake.url), options: { command: [...command] } };
    return { agent, calls: () => fake.requests.map((request) => JSON.stringify(request)), close: fake.close };
  };
  return { ...opencode, harness, start };
}

const openAi = (url: string) => ({ OPENAI_API_KEY: "key-of-no-account", OPENAI_BASE_URL: `${url}/v1` });
const others = [
  other("kilo", [join(packages, `@kilocode/cli-linux-${process.arch}/bin/kilo`)], (url) =>
    openCodeEnv(openCodeSettings(url), "KILO"),
  ),
  other("qwen", [process.execPath, join(packages, "@qwen-code/qwen-code/cli-entry.js")], (url) => ({
    ...openAi(url),
    OPENAI_MODEL: "model",
  })),
  other("goose", [join(packages, `@aaif/goose-binary-linux-${process.arch}/bin/goose`)], (url) => ({
    ...openAi(url),
    GOOSE_PROVIDER: "openai",
    GOOSE_MODEL: "model",
    OPENAI_HOST: url,
    GOOSE_DISABLE_KEYRING: "1",
  })),
].filter(({ harness }) =>
  existsSync(join(packages, { kilo: "@kilocode", qwen: "@qwen-code", goose: "@aaif" }[harness] ?? "")),
);

const harnesses = [claudeCode, codex, gemini, opencode, ...others];
const team = liveTeam(harnesses);

describe.runIf(process.platform === "linux").each(harnesses)("$harness", (harness) => {
  let mine: number[] = [];
  beforeAll(async () => {
    const before = new Set(team.processes());
    const session = await createSession(team.client, { agent: harness.harness });
    expect(await turnFor(team.client, session.id, "hello")).toMatchObject({ reason: "completed" });
    mine = team.processes().filter((pid) => !before.has(pid));
  });

  test("gives a stranger no answer", async () => {
    expect(mine.length).toBeGreaterThan(0);
    const ports = listeningPorts(mine);
    const answers = (await Promise.all(ports.map(answersToStrangers))).flat();
    expect(answers.filter((answer) => !answer.endsWith(": 401"))).toEqual([]);
    // The check would otherwise prove nothing where it matters.
    if (harness === opencode || harness.harness === "kilo") expect(ports).toHaveLength(1);
  });
});
