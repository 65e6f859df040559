/** Opens a conversation of the native agent: its model, its tools, its system prompt and its memory. */

import { containedPath, readRegular } from "@aegis/lib/files.ts";
import { type Conversation, type ConversationSpec, DriverError } from "../driver.ts";
import { NativeConversation } from "./conversation.ts";
import { detectNativeModel } from "./detect.ts";
import type { NativeDriverDeps } from "./driver.ts";
import { History } from "./history.ts";
import { resolveModel } from "./models.ts";
import { parseOptions } from "./options.ts";
import { openModel } from "./sdk.ts";
import { judgeCoreTools } from "./tool-access.ts";
import { coreTools } from "./tools/core-tools.ts";

export async function openConversation(
  deps: NativeDriverDeps,
  spec: ConversationSpec,
  scope: AsyncDisposableStack,
): Promise<Conversation> {
  const options = parseOptions(spec.agent);
  const modelId = spec.agent.model ?? (await chooseModel(deps));
  const target = resolveModel(modelId, deps.models, deps.env);
  const tools = judgeCoreTools(spec.agent, coreTools());
  const [model, system] = await Promise.all([
    openModel(target, deps.clock),
    systemPrompt(
      spec,
      deps,
      modelId,
      tools.offered.map((tool) => tool.name),
    ),
  ]);
  const conversation = new NativeConversation({
    spec,
    deps,
    model,
    modelId,
    options,
    contextSize: contextSize(target.model, options.context_size),
    system,
    history: restoreHistory(spec, deps),
    coreTools: tools,
  });
  scope.defer(() => conversation.close());
  return conversation;
}

async function chooseModel(deps: NativeDriverDeps): Promise<string> {
  const found = await detectNativeModel(deps.env, globalThis.fetch, AbortSignal.timeout(1000));
  if (found !== null) return found.model;
  throw new DriverError({
    code: "not_logged_in",
    message: "The agent names no model, and none was found: no provider's key is set and no Ollama server answers.",
    fix: "Set ANTHROPIC_API_KEY, OPENAI_API_KEY, GEMINI_API_KEY or OPENROUTER_API_KEY, or start Ollama.",
  });
}

function systemPrompt(
  { cwd, systemPrompt }: ConversationSpec,
  { clock }: NativeDriverDeps,
  model: string,
  tools: string[],
): Promise<string> {
  return buildSystemPrompt({ cwd, systemPrompt, now: clock.now(), platform: process.platform, model, tools });
}

function restoreHistory(spec: ConversationSpec, { log }: NativeDriverDeps): History {
  const history = new History();
  const unreadable = history.restore(spec.memory);
  if (unreadable > 0)
    log.error("some memory entries cannot be read", { session: spec.session.id, entries: unreadable });
  return history;
}

/** Context sizes in tokens. A table by model name, because there is no common API for it. */
const defaultContextSize = 128_000;

/** The first matching pattern applies, so narrower ones come first. */
const sizes: ReadonlyArray<readonly [RegExp, number]> = [
  [/claude-(opus|sonnet)-4-[678]|claude-(opus|sonnet)-[5-9]/, 1_000_000],
  [/claude/, 200_000],
  [/gpt-5\.[45]/, 1_000_000],
  [/gpt-5/, 400_000],
  [/gpt-4\.1/, 1_047_576],
  [/gpt-4o|gpt-4-turbo|gpt-oss/, 128_000],
  [/(^|\/)o[134](-|$)/, 200_000],
  [/gemini/, 1_048_576],
  [/llama-?4/, 1_000_000],
  [/qwen3-coder/, 262_144],
  [/deepseek/, 128_000],
  [/mistral|devstral|codestral/, 128_000],
];

/** A local server's real context is often smaller than the model's; the agent's `context_size` overrides it. */
function contextSize(model: string, override: number | undefined): number {
  if (override !== undefined) return override;
  const name = model.toLowerCase();
  return sizes.find(([pattern]) => pattern.test(name))?.[1] ?? defaultContextSize;
}

/** The first existing file is used. */
const projectFiles = ["AGENTS.md", "CLAUDE.md"];
const longestProjectFile = 32 * 1024;

const base = `You are a coding agent that works in a project folder with the tools you are given.
Read before you change: look at the relevant files, keep changes small and in the style of the project, and check them.
Say briefly what you did and what is left open. If something is refused or fails, say so; never claim what you did not do.`;

type PromptFacts = {
  cwd: string;
  /** The session's part: the agent's prompt and how to reach its peers. */
  systemPrompt: string;
  now: number;
  platform: string;
  model: string;
  tools: readonly string[];
};

/** The agent's own prompt, the project's instructions, and its environment. */
async function buildSystemPrompt(facts: PromptFacts): Promise<string> {
  const parts = [base, facts.systemPrompt.trim(), await projectNotes(facts.cwd), environment(facts), toolNotes(facts)];
  return parts.filter((part) => part !== "").join("\n\n");
}

async function projectNotes(cwd: string): Promise<string> {
  for (const name of projectFiles) {
    const path = await containedPath(cwd, name).catch(() => null);
    const text = path === null ? null : await readRegular(path).then(String, () => null);
    if (text === null || text.trim() === "") continue;
    const cut = text.length > longestProjectFile;
    const note = cut ? `\n[cut: ${text.length - longestProjectFile} more characters; read ${name} for the rest]` : "";
    return `# ${name} of this project\n\n${text.slice(0, longestProjectFile).trim()}${note}`;
  }
  return "";
}

function environment({ cwd, now, platform, model }: PromptFacts): string {
  const date = new Date(now).toISOString().slice(0, 10);
  return `# Environment\n\nProject folder: ${cwd}\nDate: ${date}\nPlatform: ${platform}\nModel: ${model}`;
}

function toolNotes({ tools }: PromptFacts): string {
  const notes = ["Paths are relative to the project folder; nothing outside it can be read or written."];
  if (tools.includes("edit"))
    notes.push("Read a file before you change it. A change is refused as stale when someone else changed the file.");
  if (tools.includes("bash")) notes.push("A command has no input. Everything it started is killed when it returns.");
  notes.push("Calls that only look may be made together in one step.");
  return `# Tools\n\n${notes.map((note) => `- ${note}`).join("\n")}`;
}
