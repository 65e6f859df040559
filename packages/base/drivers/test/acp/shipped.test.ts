/**
 * Every shipped recipe from its command on PATH to a finished turn: the fixture stands in for the agent's program, with
 * the modes and permission requests that the real one has.
 */
import { chmod, mkdir, symlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Permission } from "@aegis/contract/agent.ts";
import { fixture } from "@aegis/test/helpers/pids.ts";
import { tempDir } from "@aegis/test/helpers/temp-dir.ts";
import { describe, expect, test } from "vitest";
import type { AcpRecipe } from "../../src/acp/recipe.ts";
import { acpRecipes } from "../../src/acp/recipes/all.ts";
import { planeStub, seat } from "./seat.ts";

type Shipped = {
  args: string[];
  /** What its environment must hold; a folder of the session is `<state>`. */
  env: Record<string, string>;
  /** The modes it offers, and the one it works in for each permission. */
  offers: string[];
  modes: Record<Permission, string>;
  /** How it asks: its own word for the mode where a plugin gates it. */
  gatedMode: string;
};

const table: Record<string, Shipped> = {
  gemini: {
    args: ["--acp"],
    env: { GEMINI_CLI_NO_RELAUNCH: "1" },
    offers: ["default", "autoEdit", "yolo", "plan"],
    modes: { read: "default", write: "autoEdit", full: "yolo", auto: "default" },
    gatedMode: "default",
  },
  opencode: {
    args: ["acp"],
    env: { OPENCODE_DISABLE_AUTOUPDATE: "1" },
    offers: ["build", "plan"],
    modes: { read: "build", write: "build", full: "build", auto: "build" },
    gatedMode: "build",
  },
  kilo: {
    args: ["acp"],
    env: { KILO_DISABLE_AUTOUPDATE: "1" },
    offers: ["code", "architect"],
    modes: { read: "code", write: "code", full: "code", auto: "code" },
    gatedMode: "code",
  },
  goose: {
    args: ["acp", "--with-builtin", "developer"],
    env: { GOOSE_TELEMETRY_ENABLED: "false", EXTENSIONS: "{}" },
    offers: ["auto", "approve", "smart_approve", "chat"],
    modes: { read: "approve", write: "approve", full: "auto", auto: "smart_approve" },
    gatedMode: "approve",
  },
  qwen: {
    args: ["--acp"],
    env: { QWEN_CODE_LEGACY_MCP_BLOCKING: "1", QWEN_CODE_SYSTEM_SETTINGS_PATH: "<state>/qwen-settings.json" },
    offers: ["plan", "default", "auto-edit", "auto", "yolo"],
    modes: { read: "default", write: "auto-edit", full: "yolo", auto: "default" },
    gatedMode: "default",
  },
  kimi: {
    args: ["acp"],
    env: { KIMI_CODE_NO_AUTO_UPDATE: "1", KIMI_TELEMETRY: "0", KIMI_MCP_TOOL_TIMEOUT_MS: "86400000" },
    offers: ["default", "yolo", "plan"],
    modes: { read: "default", write: "default", full: "yolo", auto: "default" },
    gatedMode: "default",
  },
  copilot: {
    args: ["--acp", "--no-auto-update", "--allow-tool=aegis"],
    env: { COPILOT_AUTO_UPDATE: "false" },
    offers: ["https://agentclientprotocol.com/modes#agent", "https://agentclientprotocol.com/modes#plan"],
    modes: Object.fromEntries(
      ["read", "write", "full", "auto"].map((permission) => [
        permission,
        "https://agentclientprotocol.com/modes#agent",
      ]),
    ) as Record<Permission, string>,
    gatedMode: "https://agentclientprotocol.com/modes#agent",
  },
};

const recipes = acpRecipes.filter((recipe) => !recipe.commandRequired);

/** A machine whose PATH has the recipe's command, and an agent that names no program. */
async function installed(recipe: AcpRecipe, permission: Permission, gate = false) {
  const bin = join(await tempDir(), "bin");
  await mkdir(bin);
  await chmod(fixture("acp-agent.mjs"), 0o755);
  await symlink(fixture("acp-agent.mjs"), join(bin, recipe.program.command));
  const FIXTURE_FLAGS = `--modes=${table[recipe.harness]?.offers.join(",")}`;
  return seat({
    recipe,
    env: { PATH: `${bin}:${dirname(process.execPath)}` },
    agent: { harness: recipe.harness, permission, env: { FIXTURE_FLAGS }, options: {} },
    plane: planeStub(true),
    ...(gate ? { host: { beforeTool: () => ({ decision: "allow" as const }) } } : {}),
  });
}

test("each has its row here", () => {
  expect(Object.keys(table).toSorted()).toEqual(recipes.map((recipe) => recipe.harness).toSorted());
});

describe.each(recipes)("$harness", (recipe) => {
  const expected = table[recipe.harness] as Shipped;

  test("is found on PATH, and started with its arguments and settings and nothing of the daemon's", async () => {
    const at = await installed(recipe, "auto");
    const conversation = await at.open();
    const self = JSON.parse(await at.ask(conversation, "self")) as { args: string[]; env: Record<string, string> };
    expect(self.args.slice(0, expected.args.length)).toEqual(expected.args);
    for (const [name, value] of Object.entries(expected.env)) {
      expect(self.env[name], name).toBe(value.replace("<state>", at.stateDir));
    }
    expect(JSON.stringify(self)).not.toContain("s3cret-value");
    expect(JSON.stringify(self.args)).not.toContain("plane-token");
  });

  test.each(["read", "write", "full", "auto"] as const)("works in its own mode for `%s`", async (permission) => {
    const at = await installed(recipe, permission);
    const { mode, mcpServers } = JSON.parse(await at.ask(await at.open(), "settings")) as {
      mode: string;
      mcpServers: { name: string; headers: { value: string }[] }[];
    };
    // The fixture begins in a mode of no agent, so what is left alone shows.
    expect(mode).toBe(expected.modes[permission]);
    expect(mcpServers).toMatchObject([{ name: "aegis", headers: [{ value: "Bearer plane-token" }] }]);
  });

  test("asks about its tools when plugins judge them, also with full rights", async () => {
    const at = await installed(recipe, "full", true);
    const conversation = await at.open();
    expect((JSON.parse(await at.ask(conversation, "settings")) as { mode: string }).mode).toBe(expected.gatedMode);
    expect(await at.ask(conversation, "asks")).toBe("allowed by yes");
    expect(at.host.asked).toEqual([]);
  });

  test("goes on with its conversation in a new process", async () => {
    const at = await installed(recipe, "auto");
    expect(await at.ask(await at.open(), "recall")).toBe("prompts: 1");
    await at.close();
    expect(await at.ask(await at.open(), "recall")).toBe("prompts: 2");
  });
});
