/** Files that contain keys and passwords: a pattern for their paths, and the words that a match must contain. */
export const secretFile = String.raw`\.ssh/(?:id_\w{2,12}|identity)\b|\.aws/credentials\b|\.netrc\b|\.git-credentials\b|\.npmrc\b|\.pypirc\b|\.docker/config\.json|\.kube/config\b|\.config/gh/hosts|\.gnupg/|\.claude/\.credentials|\.codex/auth|\.openclaw/openclaw\.json|\.clawdbot/\.env|/etc/shadow\b|login\.keychain|\blogin data\b|\bwallet\.dat\b`;
export const secretFileWords = [
  ...[".ssh/id", ".aws/cred", ".netrc", ".git-cred", ".npmrc", ".pypirc", ".docker/", ".kube/", ".config/gh"],
  ...[
    ".gnupg/",
    ".claude/.",
    ".codex/a",
    ".openclaw/",
    ".clawdbot/",
    "/etc/shadow",
    "login.key",
    "login data",
    "wallet.dat",
  ],
];
