/**
 * Files of a project that harnesses read by themselves and that can make them run something or call somewhere else.
 * Started by Aegis, most of them do not ask whether the folder is to be trusted, so Aegis does.
 */
import { createHash } from "node:crypto";
import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { isErrno } from "../../lib/files.ts";
import { treeHash } from "../../lib/safe-tree.ts";
import type { TrustItem } from "../../runtime/plugins/trust/trust.ts";

type HarnessFile = {
  harnesses: readonly string[];
  /** A file or a folder, relative to the project. */
  path: string;
  what: string;
  /** Whether the text is of any consequence; always, when absent. */
  matters?: (text: string) => boolean;
};

/** Keys of Claude Code's settings that neither run anything nor let anything run. */
const harmlessClaudeKeys = ["$schema", "model", "outputStyle", "cleanupPeriodDays", "includeCoAuthoredBy", "language"];

const files: readonly HarnessFile[] = [
  ...[".claude/settings.json", ".claude/settings.local.json"].map((path) => ({
    harnesses: ["claude-code"],
    path,
    what: "Claude Code takes hooks, environment and rights from it",
    matters: mattersToClaude,
  })),
  { harnesses: ["codex"], path: ".codex", what: "Codex takes settings and servers from it" },
  { harnesses: ["gemini"], path: ".gemini", what: "Gemini CLI takes settings, commands and extensions from it" },
  { harnesses: ["qwen"], path: ".qwen", what: "Qwen Code takes settings, commands and extensions from it" },
  {
    harnesses: ["gemini", "qwen"],
    path: ".env",
    what: "it tells the harness which server gets your key",
    matters: (text) => /^\s*(?:export\s+)?\w*(?:BASE_URL|ENDPOINT|PROXY|NODE_OPTIONS)\s*=/m.test(text),
  },
  ...["opencode.json", "opencode.jsonc", ".opencode"].map((path) => ({
    harnesses: ["opencode", "kilo"],
    path,
    what: "OpenCode takes settings, plugins and tools from it",
  })),
  { harnesses: ["copilot"], path: ".github/hooks", what: "Copilot runs hooks from it" },
];

/** What harnesses put there by themselves as they run; a folder that changed with each start could never be agreed to. */
const installedByHarness: readonly string[] = ["node_modules"];

export type HarnessItem = { item: TrustItem; harnesses: readonly string[] };

/** The files that are there and matter, each as something to agree to. */
export async function harnessItems(root: string): Promise<HarnessItem[]> {
  const found: HarnessItem[] = [];
  for (const { harnesses, path, what, matters } of files) {
    const hash = await hashOf(join(root, path), matters);
    if (hash !== null) found.push({ item: { kind: "harness", name: path, what, hash, file: path }, harnesses });
  }
  return found;
}

async function hashOf(path: string, matters: HarnessFile["matters"]): Promise<string | null> {
  try {
    if ((await stat(path)).isDirectory()) return await treeHash(path, { skip: installedByHarness });
    const bytes = await readFile(path);
    if (matters?.(bytes.toString("utf8")) === false) return null;
    return `sha256:${createHash("sha256").update(bytes).digest("hex")}`;
  } catch (error) {
    if (isErrno(error, "ENOENT", "ENOTDIR")) return null;
    throw error;
  }
}

/** A file that cannot be read as settings counts: the harness may read it otherwise. */
function mattersToClaude(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== "object" || value === null) return true;
    return Object.keys(value).some((key) => !harmlessClaudeKeys.includes(key));
  } catch {
    return true;
  }
}
