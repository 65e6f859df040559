/**
 * A driven CLI loads the plane and no other MCP server, wherever the user or the project has declared one. Gemini CLI
 * and OpenCode are always here; the others run when AEGIS_LIVE_MORE names a `node_modules` that has them.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createAcpDriver } from "@aegis/drivers/acp/driver.ts";
import type { AcpRecipe } from "@aegis/drivers/acp/recipe.ts";
import { copilot } from "@aegis/drivers/acp/recipes/copilot.ts";
import { gemini } from "@aegis/drivers/acp/recipes/gemini.ts";
import { goose } from "@aegis/drivers/acp/recipes/goose.ts";
import { kimi } from "@aegis/drivers/acp/recipes/kimi.ts";
import { kilo, opencode } from "@aegis/drivers/acp/recipes/opencode.ts";
import { qwen } from "@aegis/drivers/acp/recipes/qwen.ts";
import { afterAll, beforeAll, expect, test } from "vitest";
import { runTurn, textOf } from "../helpers/turns.ts";
import { type Decoys, makeDecoys, writeSettings } from "./decoys.ts";
import { type FakeChat, startFakeChat } from "./fake-chat.ts";
import { type FakeGemini, startFakeGemini } from "./fake-gemini.ts";
import { liveSeat } from "./live-seat.ts";
import { openCodeEnv, openCodeSettings } from "./support/opencode-settings.ts";

const more = process.env.AEGIS_LIVE_MORE ?? "/nowhere";
const platform = `${process.platform}-${process.arch}`;

let chat: FakeChat;
let google: FakeGemini;
beforeAll(async () => {
  [chat, google] = await Promise.all([startFakeChat(), startFakeGemini()]);
});
afterAll(() => Promise.all([chat.close(), google.close()]));

type Places = { home: string; dir: string };
type Subject = {
  recipe: AcpRecipe;
  program: string;
  model: string | null;
  /** As the model names the plane's tool. */
  tool: string;
  env: () => Record<string, string>;
  /** Declares decoys everywhere the CLI looks, beside settings it needs. */
  declare(places: Places, decoys: Decoys): Promise<void>;
};

const here = (path: string) => fileURLToPath(new URL(`node_modules/${path}`, import.meta.url));

const subjects: Subject[] = [
  {
    recipe: gemini,
    program: here("@google/gemini-cli/bundle/gemini.js"),
    model: "gemini-2.5-pro",
    tool: "mcp_aegis_change",
    env: () => ({ GEMINI_API_KEY: "test", GOOGLE_GEMINI_BASE_URL: google.url }),
    async declare({ home, dir }, { server }) {
      await writeSettings(join(home, ".gemini", "settings.json"), {
        mcpServers: { user: server("user"), aegis: server("aegis") },
        mcp: { allowed: ["user"] },
      });
      await writeSettings(join(dir, ".gemini", "settings.json"), {
        mcpServers: { project: server("project") },
        mcp: { allowed: ["project"] },
      });
      const extension = join(home, ".gemini", "extensions", "extra");
      await writeSettings(join(extension, "gemini-extension.json"), {
        name: "extra",
        version: "1.0.0",
        mcpServers: { extension: server("extension") },
      });
    },
  },
  {
    recipe: opencode,
    program: here(`opencode-${platform}/bin/opencode`),
    ...openCodeLike("OPENCODE", "opencode", [".opencode"]),
  },
  {
    recipe: kilo,
    program: join(more, `@kilocode/cli-${platform}/bin/kilo`),
    ...openCodeLike("KILO", "kilo", [".kilo", ".kilocode"]),
  },
  {
    recipe: qwen,
    program: join(more, "@qwen-code/qwen-code/cli-entry.js"),
    model: null,
    tool: "mcp__aegis__change",
    env: () => ({ OPENAI_API_KEY: "k", OPENAI_BASE_URL: `${chat.url}/v1`, OPENAI_MODEL: "fake" }),
    async declare({ home, dir }, { server }) {
      const auth = { security: { auth: { selectedType: "openai" } }, model: { name: "fake" } };
      await writeSettings(join(home, ".qwen", "settings.json"), {
        ...auth,
        mcpServers: { user: server("user"), aegis: server("user-aegis") },
      });
      await writeSettings(join(dir, ".qwen", "settings.json"), {
        mcpServers: { project: server("project") },
        mcp: { allowed: ["project"] },
      });
      await writeSettings(join(dir, ".mcp.json"), { mcpServers: { shared: server("shared"), aegis: server("aegis") } });
    },
  },
  {
    recipe: kimi,
    program: join(more, "@moonshot-ai/kimi-code/dist/main.mjs"),
    model: null,
    tool: "mcp__aegis__change",
    env: () => ({}),
    async declare({ home, dir }, { server }) {
      const settings = [
        'default_model = "fake"',
        ...["[providers.fake]", 'type = "openai"', `base_url = "${chat.url}/v1"`, 'api_key = "k"'],
        ...["[models.fake]", 'provider = "fake"', 'model = "fake"', "max_context_size = 200000"],
      ];
      await writeSettings(join(home, ".kimi-code", "config.toml"), settings.join("\n"));
      await writeSettings(join(home, ".kimi-code", "mcp.json"), { mcpServers: { user: server("user") } });
      await writeSettings(join(dir, ".kimi-code", "mcp.json"), { mcpServers: { project: server("project") } });
      await writeSettings(join(dir, ".mcp.json"), { mcpServers: { shared: server("shared") } });
    },
  },
  {
    recipe: copilot,
    program: join(more, `@github/copilot-${platform}/copilot`),
    model: null,
    tool: "aegis-change",
    env: () => ({
      COPILOT_PROVIDER_TYPE: "openai",
      COPILOT_PROVIDER_BASE_URL: `${chat.url}/v1`,
      COPILOT_PROVIDER_API_KEY: "k",
      COPILOT_MODEL: "fake",
      COPILOT_OFFLINE: "true",
    }),
    async declare({ home, dir }, { server }) {
      const local = (name: string) => ({ mcpServers: { [name]: { type: "local", tools: ["*"], ...server(name) } } });
      await writeSettings(join(home, ".copilot", "mcp-config.json"), local("user"));
      await writeSettings(join(home, ".copilot", "config.json"), { trusted_folders: [dir], trustedFolders: [dir] });
      await writeSettings(join(dir, ".mcp.json"), local("shared"));
      await writeSettings(join(dir, ".github", "mcp.json"), local("github"));
      await writeSettings(join(dir, ".vscode", "mcp.json"), { servers: { editor: server("editor") } });
    },
  },
  {
    recipe: goose,
    program: join(more, `@aaif/goose-binary-${platform}/bin/goose`),
    model: null,
    tool: "aegis__change",
    env: () => ({
      GOOSE_PROVIDER: "openai",
      GOOSE_MODEL: "fake",
      OPENAI_API_KEY: "k",
      OPENAI_HOST: chat.url,
      OPENAI_BASE_PATH: "v1/chat/completions",
      GOOSE_DISABLE_KEYRING: "1",
    }),
    async declare({ home, dir }, { server }) {
      const { command, args } = server("user");
      const extension = { name: "user", type: "stdio", enabled: true, cmd: command, args, timeout: 300, envs: {} };
      await writeSettings(join(home, ".config", "goose", "config.yaml"), { extensions: { user: extension } });
      await writeSettings(join(dir, ".mcp.json"), { mcpServers: { shared: server("shared") } });
    },
  },
];

function openCodeLike(prefix: string, name: string, folders: string[]): Omit<Subject, "recipe" | "program"> {
  return {
    model: "fake/model",
    tool: "aegis_change",
    env: () => openCodeEnv(openCodeSettings(chat.url), prefix),
    async declare({ home, dir }, { server }) {
      const local = (decoy: string) => {
        const { command, args } = server(decoy);
        return { type: "local", command: [command, ...args], enabled: true };
      };
      await writeSettings(
        join(home, ".config", name, `${name}.jsonc`),
        `{ // mine\n "mcp": { "user": ${JSON.stringify(local("user"))}, }, }`,
      );
      await writeSettings(join(dir, `${name}.json`), { mcp: { project: local("project"), aegis: local("aegis") } });
      await writeSettings(join(home, folders[0] ?? "", `${name}.json`), { mcp: { home: local("home") } });
      for (const folder of folders) {
        await writeSettings(join(dir, folder, `${name}.json`), { mcp: { [folder]: local(`in${folder}`) } });
        const older = { mcpServers: { [`older${folder}`]: server(`older${folder}`) } };
        await writeSettings(join(dir, folder, "mcp.json"), older);
      }
    },
  };
}

for (const subject of subjects) {
  const { recipe, program } = subject;
  test.runIf(existsSync(program))(`${recipe.program.name} loads the plane and nothing else`, async () => {
    const command = /\.m?js$/.test(program) ? [process.execPath, program] : [program];
    const agent = { harness: recipe.harness, model: subject.model, effort: null, env: {}, options: { command } };
    const { open, dir, plane, host } = await liveSeat((deps) => createAcpDriver(deps, recipe), agent, {
      env: subject.env(),
      permission: () => ({ decision: "allow", scope: "once" }),
    });
    const home = join(dir, "..", "home");
    const decoys = await makeDecoys(join(dir, "..", "decoys"));
    await subject.declare({ home, dir }, decoys);
    const turn = await runTurn(await open(), `TOOL ${subject.tool} {"text":"hi"}`);
    expect(textOf(turn)).toContain("changed: hi");
    expect(plane.calls).toEqual([{ tool: "change", text: "hi" }]);
    expect(await decoys.started()).toEqual([]);
    expect(host.notices).toEqual([]);
  });
}
