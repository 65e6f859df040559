/** Builds the built-in gate: the list of files that decide what Aegis and its agents may do. */
import { plainReading } from "../drivers/codex/plain-reading.ts";
import type { Environment } from "../lib/child-env.ts";
import { configFileName } from "../lib/daemon-file.ts";
import { localFileName } from "../project/config/files.ts";
import { harnessPaths } from "../project/trust/harness-files.ts";
import { homeOf } from "../project/trust/project-trust.ts";
import { createFileGuard, type FileGuard, type GuardedPath } from "../runtime/hooks/file-guard.ts";

/** Project files in addition to harness settings. */
const ownPaths = [".aegis", configFileName, localFileName];
/** Files of the user. Harnesses may freely write the rest of their folders, such as plans and transcripts. */
const userPaths = [
  ...[".aegis", ".claude.json", ".claude/settings.json", ".claude/settings.local.json", ".codex/config.toml"],
  ...[".codex/rules", ".gemini/settings.json", ".qwen/settings.json", ".config/opencode", ".config/goose"],
  ...[
    ".copilot/mcp-config.json",
    ".copilot/config.json",
    ".copilot/settings.json",
    ".copilot/hooks",
    ".agents/plugins",
  ],
];

/** `guarded` are the project paths in which every write counts. */
export function buildFileGuard(root: string, env: Environment): { guard: FileGuard; guarded: readonly string[] } {
  const project: GuardedPath[] = [...ownPaths.map((path) => ({ path })), ...harnessPaths];
  const guard = createFileGuard({
    root,
    home: homeOf(env),
    project,
    user: userPaths.map((path) => ({ path })),
    onlyReads: (command, cwd, folder) => plainReading(command, cwd, folder) !== null,
  });
  return { guard, guarded: project.filter(({ matters }) => matters === undefined).map(({ path }) => path) };
}
