/** The programs that `aegis mcp install` knows. */
export const installTargets = [
  "claude-code",
  "claude-desktop",
  "codex",
  "cursor",
  "gemini",
  "vscode",
  "windsurf",
  "zed",
] as const;

export type InstallTarget = (typeof installTargets)[number];
