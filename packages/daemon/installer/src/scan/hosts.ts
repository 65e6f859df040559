/** Classifies the host of an address: a known project, a page that anyone can create, or neither. */

export type HostKind = "known" | "throwaway" | "local" | "other";

/** Projects and vendors whose installers and guides are widely used. Subdomains count as well. */
const known: ReadonlySet<string> = new Set([
  ...[
    "bun.sh",
    "rustup.rs",
    "rust-lang.org",
    "brew.sh",
    "astral.sh",
    "deno.com",
    "deno.land",
    "nodejs.org",
    "npmjs.com",
  ],
  ...[
    "python.org",
    "pypi.org",
    "golang.org",
    "go.dev",
    "docker.com",
    "kubernetes.io",
    "helm.sh",
    "k3s.io",
    "ollama.com",
  ],
  ...[
    "microsoft.com",
    "apple.com",
    "google.com",
    "antigravity.google",
    "cloud.google.com",
    "amazon.com",
    "amazonaws.com",
    "aws.amazon.com",
  ],
  ...[
    "github.com/cli",
    "cli.github.com",
    "docs.github.com",
    "gitlab.com",
    "hashicorp.com",
    "terraform.io",
    "pulumi.com",
  ],
  ...[
    "claude.ai",
    "claude.com",
    "anthropic.com",
    "openai.com",
    "cursor.com",
    "openclaw.ai",
    "clawhub.ai",
    "vercel.com",
  ],
  ...["netlify.com", "fly.io", "supabase.com", "cloudflare.com", "heroku.com", "digitalocean.com", "railway.com"],
  ...["ubuntu.com", "debian.org", "archlinux.org", "fedoraproject.org", "nixos.org", "zerotier.com", "tailscale.com"],
  ...[
    "getpoetry.org",
    "python-poetry.org",
    "sh.rustup.rs",
    "get.pnpm.io",
    "pnpm.io",
    "yarnpkg.com",
    "volta.sh",
    "starship.rs",
  ],
  ...["ohmyz.sh", "sdkman.io", "get.docker.com", "get.helm.sh", "mise.run", "mise.jdx.dev", "asdf-vm.com", "pyenv.run"],
  ...[
    "conda.io",
    "anaconda.com",
    "jetbrains.com",
    "git-scm.com",
    "ffmpeg.org",
    "7-zip.org",
    "sqlite.org",
    "postgresql.org",
  ],
  ...["paradigm.xyz", "getfoundry.sh", "solana.com", "anza.xyz", "stripe.com", "snyk.io", "semgrep.dev", "trivy.dev"],
]);

/** Known repositories on hosts where anyone can have one. */
const knownPaths =
  /^(?:raw\.githubusercontent\.com|github\.com)\/(?:nvm-sh|homebrew|ohmyzsh|pyenv|rust-lang|docker|kubernetes|helm|cli|astral-sh|oven-sh|denoland|nodejs|python|golang|microsoft|google|aws|hashicorp|anthropics|openai|openclaw|junegunn|mikefarah|jqlang|stedolan|bazelbuild|k3s-io|k3d-io|argoproj|derailed|aquasecurity|anchore|semgrep|projectdiscovery|fnproject|gitleaks|trufflesecurity|github|git-for-windows|powershell|scoopinstaller|chocolatey|sharkdp|burntsushi|ggml-org|ggerganov|yt-dlp|ffmpeg|imagemagick|jgm|tesseract-ocr|ub-mannheim|ollama|login|settings|apps)\//;

/** Anonymous hosts: pastes, short links, file drops and tunnels. */
const throwaway =
  /(?:^|\.)(?:haste|paste|ghost|priv(?:ate)?|text|z?ero?)bin\.|(?:^|\.)(?:glot\.io|rentry\.(?:co|org)|pastebin\.com|paste\.(?:ee|rs|mozilla\.org|debian\.net|sh)|hastebin\.\w{2,8}|ghostbin\.\w{2,8}|dpaste\.(?:com|org)|ix\.io|sprunge\.us|termbin\.com|0bin\.net|privatebin\.\w{2,8}|controlc\.com|justpaste\.it|telegra\.ph|write\.as|textbin\.\w{2,8}|pastes?\.io|0x0\.st|transfer\.sh|file\.io|gofile\.io|anonfiles?\.\w{2,8}|bashupload\.com|catbox\.moe|mediafire\.com|mega\.(?:nz|io)|zippyshare\.\w{2,8}|sendspace\.com|wetransfer\.com|we\.tl|dropmefiles\.com|workupload\.com|pixeldrain\.com|krakenfiles\.com|cdn\.discordapp\.com|drive\.google\.com|docs\.google\.com|dropbox\.com|1drv\.ms|notion\.site|bit\.ly|tinyurl\.com|t\.co|goo\.gl|is\.gd|cutt\.ly|rb\.gy|shorturl\.at|t\.ly|tiny\.cc|ow\.ly|rebrand\.ly|s\.id|ngrok(?:-free)?\.(?:app|io|dev)|trycloudflare\.com|loca\.lt|serveo\.net|bore\.pub|localhost\.run|duckdns\.org|no-ip\.\w{2,4}|ddns\.net)$/;

/** Hosts that give everybody a name for nothing, and chats that anyone can open. */
const freeHosting =
  /(?:^|\.)(?:t\.me|discord\.gg|(?:vercel|netlify|web|firebaseapp|replit|railway|lovable|framer|glitch|bolt|streamlit|base44)\.app|firebaseapp\.com|(?:pages|workers|r2|fly|deno|repl|azurestaticapps)\.dev|(?:github|gitlab|gitbook|webflow|codeberg)\.io|surge\.sh|onrender\.com|herokuapp\.com|(?:glitch|repl)\.(?:me|co)|blogspot\.\w{2,6}|(?:wordpress|weebly|wixsite|webnode|000webhostapp|azurewebsites)\.(?:com|net)|carrd\.co|canva\.site|neocities\.org|bitbucket\.org|sourceforge\.net)$/;

/** Registries in which known projects have their names. A name in any other one costs almost nothing. */
const usualNames =
  /\.(?:com|org|net|io|dev|sh|ai|app|co|so|edu|gov|int|mil|tools|build|run|land|systems|software|pub|cloud|page|(?!tk|ml|ga|cf|gq|cc|pw|su|ws|la|to|li|gg)[a-z]{2})$/;

const address = /^(?:\d{1,3}\.){3}\d{1,3}$/;
const local =
  /^(?:localhost|127\.|10\.|192\.168\.|172\.(?:1[6-9]|2\d|3[01])\.|0\.0\.0\.0|169\.254\.)|\.(?:local|internal|lan)$/;

/** Classifies an address as written in a text, with or without a scheme. */
export function hostKind(url: string): HostKind {
  const [, host = "", path = ""] =
    /^(?:https?:\/\/)?(?:[^/@\s]{0,100}@)?([^/:?#\s]{1,253})(?::\d{1,5})?(\S{0,300})/.exec(url) ?? [];
  // A single word is a placeholder or a name of this network.
  if (local.test(host) || !host.includes(".")) return "local";
  if (address.test(host) || throwaway.test(host) || isGist(host, path)) return "throwaway";
  if (knownPaths.test(`${host}${path}`)) return "known";
  const [, owner] = /^([\w-]{1,60})\.github\.io$/.exec(host) ?? [];
  if (owner !== undefined && knownPaths.test(`github.com/${owner}/`)) return "known";
  const labels = host.split(".");
  for (let from = 0; from < labels.length - 1; from++) if (known.has(labels.slice(from).join("."))) return "known";
  return "other";
}

/** A host that costs its owner almost nothing. Says little alone. */
export function isCheap(url: string): boolean {
  const [, host = ""] = /^(?:https?:\/\/)?([^/:?#\s]{1,253})/.exec(url) ?? [];
  return hostKind(url) === "other" && (freeHosting.test(host) || !usualNames.test(host) || borrowsName(host));
}

/** The name of a known project in the host of another. */
function borrowsName(host: string): boolean {
  const labels = host.split(".");
  return knownNames.some(
    (name) => host.includes(name) && !labels.includes(name) && !labels.includes(`${name}usercontent`),
  );
}

const knownNames: readonly string[] = [
  ...["openclaw", "clawhub", "clawd", "moltbot", "claude", "anthropic", "openai", "chatgpt", "gemini", "google"],
  ...["github", "microsoft", "apple-", "icloud", "docker", "homebrew", "nodejs", "python-", "telegram-", "metamask"],
];

/** A name in a registry where known projects have none. */
export function hasUnusualName(url: string): boolean {
  const [, host = ""] = /^(?:https?:\/\/)?([^/:?#\s]{1,253})/.exec(url) ?? [];
  return hostKind(url) === "other" && !usualNames.test(host) && !/\.(?:example|test|invalid)$/.test(host);
}

function isGist(host: string, path: string): boolean {
  return /^gist\.github(?:usercontent)?\.com$/.test(host) && path.length > 1;
}

const tunnel =
  /(?:^|\.)(?:ngrok(?:-free)?\.(?:app|io|dev)|trycloudflare\.com|loca\.lt|serveo\.net|bore\.pub|localhost\.run)$/;

export function isTunnel(url: string): boolean {
  const [, host = ""] = /^(?:https?:\/\/)?([^/:?#\s]{1,253})/.exec(url) ?? [];
  return tunnel.test(host);
}

/** Pages of text without an owner, and links that hide where they lead. Programs are not distributed there. */
const paste =
  /(?:^|\.)(?:\w{0,8}bin\.\w{2,8}|glot\.io|rentry\.\w{2,4}|paste\.\w{2,8}|dpaste\.\w{2,4}|ix\.io|sprunge\.us|controlc\.com|justpaste\.it|telegra\.ph|write\.as|pastes?\.io|0x0\.st|bit\.ly|tinyurl\.com|is\.gd|cutt\.ly|rb\.gy|shorturl\.at|t\.ly|tiny\.cc|rebrand\.ly)$/;

export function isPaste(url: string): boolean {
  const [, host = ""] = /^(?:https?:\/\/)?([^/:?#\s]{1,253})/.exec(url) ?? [];
  return paste.test(host);
}

/** An IP address; loopback and private addresses do not count. */
export const bareAddress =
  /https?:\/\/(?!127\.|0\.0\.0\.0|10\.|192\.168\.|172\.(?:1[6-9]|2\d|3[01])\.)(?:\d{1,3}\.){3}\d{1,3}\b/;

/** For patterns that need a throwaway host anywhere on a line. */
export function hasThrowawayHost(line: string): boolean {
  for (const { 0: url } of line.matchAll(/https?:\/\/[^\s"'`)>|]{1,300}/g))
    if (hostKind(url) === "throwaway") return true;
  return false;
}
