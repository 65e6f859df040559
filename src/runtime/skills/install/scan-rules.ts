/**
 * What in a skill's files gives it away. A rule looks for an anchor and only then at what stands near it, so that the
 * time it takes grows with the text and not faster: no pattern has a gap that could begin at every character.
 * The text is in lower case when it is matched, also inside patterns.
 */
import type { FindingSeverity } from "../../../contract/skill-install.ts";

export type ScanRule = {
  rule: string;
  severity: FindingSeverity;
  message: string;
  /** Without one of these words in it, a text cannot match. */
  words: readonly string[];
  anchor: RegExp;
  /** What stands before the anchor on its line, what stands after it, and what stands anywhere on it. */
  before?: RegExp;
  after?: RegExp;
  line?: RegExp;
  unless?: RegExp;
};

type Form = Pick<ScanRule, "words" | "before" | "after" | "line" | "unless"> & { anchor: string };

const shellWord = String.raw`(?:bash|zsh|dash|ksh|fish|sh|python[23]?|perl|ruby|node|pwsh|powershell|osascript)\b`;
/** A shell that reads its program from a pipe. */
const pipedShell = String.raw`\|\s{0,4}(?:sudo\s{1,4}(?:-\w{1,8}\s{1,4}){0,3})?(?:/(?:usr/)?bin/)?(?:env\s{1,4})?${shellWord}`;
/** With something to load behind it: a table may have both words in neighbouring cells. */
const downloads = /\b(?:curl|wget|aria2c)\s{1,4}[^|\s]/;
const powershellDownloads = /\b(?:downloadstring|irm|iwr|invoke-webrequest|invoke-restmethod)\b/;
const decodesBase64 = /\bbase64\s{1,4}(?:-d|--decode)\b|\bopenssl\b.*\bbase64\b/;
const sends =
  /\bcurl\b|\bwget\b|\bncat\b|\bnetcat\b|\bnc\s|\bscp\b|\brsync\b|requests\.(?:post|put|get)|urllib|httpx\.|axios|fetch\(|xmlhttprequest|https?\.request|invoke-(?:webrequest|restmethod)|socket\./;
const bareAddress = /https?:\/\/(?:\d{1,3}\.){3}\d{1,3}\b/;
const secretWord =
  /\b(?:api[_-]?keys?|credentials?|passwords?|secrets?|access[_-]?tokens?|private keys?|seed phrases?)\b|\$\(?\{?(?:env|printenv)\b|process\.env\b|os\.environ|(?:_key|_token|_secret)\b|\.env\b/;
/** Files that hold keys and passwords. */
const secretFile = String.raw`\.ssh/(?:id_\w{2,12}|identity)\b|\.aws/credentials\b|\.netrc\b|\.git-credentials\b|\.npmrc\b|\.pypirc\b|\.docker/config\.json|\.kube/config\b|\.config/gh/hosts|\.gnupg/|\.claude/\.credentials|\.codex/auth|\.openclaw/openclaw\.json|\.clawdbot/\.env|/etc/shadow\b|login\.keychain|\blogin data\b|\bwallet\.dat\b`;
const secretFileWords = [
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
/** Places where anybody can collect what others send. */
const dropPoint = String.raw`webhook\.site|requestbin|pipedream\.net|\.oastify\.com|\.burpcollaborator\.net|\.interact\.sh|\.oast\.\w{2,6}|beeceptor\.com|hookbin\.com|discord(?:app)?\.com/api/webhooks|api\.telegram\.org/bot|transfer\.sh|pastebin\.com/raw|glot\.io/snippets|ngrok(?:-free)?\.(?:app|io)`;
const dropPointWords = [
  ...["webhook.site", "requestbin", "pipedream.", ".oastify.", ".burpcoll", ".interact.sh", ".oast.", "beeceptor."],
  ...["hookbin.", "/api/webhooks", "api.telegram.org/", "transfer.sh", "pastebin.", "glot.io/", "ngrok"],
];
const shellPipes: readonly Form[] = [
  { words: ["curl", "wget", "aria2c"], anchor: pipedShell, before: downloads },
  {
    words: ["<("],
    anchor: String.raw`<\(\s{0,4}(?:curl|wget|aria2c)\b`,
    before: new RegExp(`${shellWord}|\\b(?:source|\\.)\\s`),
  },
  {
    words: ["$("],
    anchor: String.raw`\$\(\s{0,4}(?:curl|wget|aria2c)\b`,
    before: /\s-\w{0,4}c\s{1,4}["']?$|\b(?:eval|source)\s{1,4}["']?$/,
  },
  {
    words: ["iex", "invoke-expression"],
    anchor: String.raw`\b(?:iex|invoke-expression)\b`,
    after: powershellDownloads,
  },
  {
    words: ["iex", "invoke-expression"],
    anchor: String.raw`\|\s{0,4}(?:iex|invoke-expression)\b`,
    before: powershellDownloads,
  },
];

export const scanRules: readonly ScanRule[] = [
  ...forms(
    "malicious",
    "install.shell-pipe-ip",
    "runs what a bare address sends",
    shellPipes.map((form) => ({ ...form, line: bareAddress })),
  ),
  ...forms(
    "suspicious",
    "install.shell-pipe",
    "runs whatever a server sends at that moment",
    shellPipes.map((form) => ({ ...form, unless: bareAddress })),
  ),
  ...forms("malicious", "payload.base64-shell", "runs a program that is hidden in base64", [
    { words: ["base64"], anchor: pipedShell, before: decodesBase64 },
    {
      words: ["base64"],
      anchor: String.raw`\bbase64\s{1,4}(?:-d|--decode)`,
      before: /\beval\b|\s-\w{0,4}c\s{1,4}["']?\$\(/,
    },
    { words: ["b64decode"], anchor: String.raw`\bb64decode\b`, before: /\b(?:exec|eval)\s{0,4}\(/ },
    { words: ["atob"], anchor: String.raw`\batob\s{0,4}\(`, before: /\b(?:eval|function|exec|execsync)\s{0,4}\(/ },
    {
      words: ["base64"],
      anchor: `["']base64["']`,
      before: /\b(?:eval|function|exec|execsync)\s{0,4}\(\s{0,4}buffer\.from/,
    },
    {
      words: ["powershell"],
      anchor: String.raw`\s-e(?:nc|ncodedcommand)?\s{1,4}[a-z0-9+/=]{40}`,
      before: /\bpowershell/,
    },
  ]),
  ...forms("malicious", "payload.reverse-shell", "gives a stranger a shell on this machine", [
    { words: ["/dev/tcp", "/dev/udp"], anchor: String.raw`/dev/(?:tcp|udp)/[\w.$\{-]{1,100}/[\w$\{]` },
    {
      words: ["nc ", "ncat", "netcat"],
      anchor: String.raw`\b(?:nc|ncat|netcat)\s`,
      after: /\s-\w{0,4}[ec]\s{1,4}\S{0,40}(?:bash|sh|cmd)/,
    },
    { words: ["socat"], anchor: String.raw`\bsocat\s`, after: /\bexec:/ },
    { words: ["mkfifo"], anchor: String.raw`\bmkfifo\s`, after: /\|\s{0,4}(?:nc|ncat|netcat|telnet)\b/ },
  ]),
  ...forms("malicious", "payload.crypto-mining", "mines cryptocurrency", [
    { words: ["stratum+", "xmrig"], anchor: String.raw`\bstratum\+(?:tcp|ssl)://|\bxmrig\b` },
  ]),
  ...forms("malicious", "exfiltration.credentials", "sends a file that holds keys or passwords away", [
    { words: secretFileWords, anchor: secretFile, line: sends },
  ]),
  ...forms("malicious", "exfiltration.environment", "sends the environment, with every key in it, away", [
    { words: ["env"], anchor: String.raw`\b(?:env|printenv)\s{0,4}\|`, after: /\b(?:curl|wget|nc|ncat)\b/ },
    { words: ["$(env", "$(printenv"], anchor: String.raw`\$\((?:env|printenv)\b`, before: /\b(?:curl|wget)\b/ },
    {
      words: ["json.stringify"],
      anchor: String.raw`json\.stringify\s{0,4}\(\s{0,4}process\.env\s{0,4}\)`,
      line: sends,
    },
    { words: ["os.environ"], anchor: String.raw`(?:dict\(|json\.dumps\()\s{0,4}(?:dict\()?os\.environ`, line: sends },
  ]),
  ...forms("malicious", "exfiltration.drop-point-secrets", "sends secrets to a place where anybody can collect them", [
    { words: dropPointWords, anchor: dropPoint, line: secretWord },
  ]),
  ...forms("suspicious", "exfiltration.drop-point", "names a place where anybody can collect what others send", [
    { words: dropPointWords, anchor: dropPoint, unless: secretWord },
  ]),
  ...forms("suspicious", "credentials.read", "touches a file that holds keys or passwords", [
    { words: secretFileWords, anchor: secretFile, unless: sends },
  ]),
  ...forms("suspicious", "injection.override", "tells the agent to drop its instructions", [
    {
      words: ["ignore", "disregard", "forget", "override", "bypass"],
      anchor: String.raw`\b(?:ignore|disregard|forget|override|bypass)\s{1,4}(?:all\s{1,4})?(?:of\s{1,4})?(?:your\s{1,4}|the\s{1,4}|any\s{1,4})?(?:previous|prior|above|earlier|existing|system|safety|security)\s{1,4}(?:instructions?|prompts?|rules?|messages?|guidelines?|directives?|checks?|polic(?:y|ies))`,
    },
    {
      words: ["you are"],
      anchor: String.raw`\byou\s{1,4}are\s{1,4}(?:now\s{1,4})?(?:in\s{1,4})?(?:dan\b|jailbroken|developer mode|unrestricted mode)`,
    },
    {
      words: ["<system", "</system", "<|"],
      anchor: String.raw`</?system(?:[-_](?:reminder|prompt))?>|<\|(?:im_start|im_end|system)\|>`,
    },
  ]),
  ...forms("suspicious", "injection.secrecy", "tells the agent to keep something from its user", [
    {
      words: ["user"],
      anchor: String.raw`\b(?:do\s{1,4}not|don['’]t|never)\s{1,4}(?:tell|inform|notify|alert|mention\s{1,4}(?:this|it)\s{1,4}to|reveal\s{1,4}(?:this|it)\s{1,4}to|show\s{1,4}(?:this|it)\s{1,4}to)\s{1,4}(?:the\s{1,4})?users?\b(?!\s{1,4}to\b)`,
    },
    {
      words: ["user"],
      anchor: String.raw`\bwithout\s{1,4}(?:telling|informing|notifying|alerting|the\s{1,4}knowledge\s{1,4}of|the\s{1,4}consent\s{1,4}of)\s{1,4}(?:the\s{1,4})?user`,
    },
    {
      words: ["silently", "secretly", "covertly"],
      anchor: String.raw`\b(?:silently|secretly|covertly)\s{1,4}(?:send|upload|post|exfiltrate|transmit|forward|execute|run|install|copy)\b`,
    },
  ]),
  ...forms("suspicious", "injection.collect-secrets", "tells the agent to hand over secrets", [
    {
      words: ["send", "upload", "post", "transmit", "exfiltrate", "forward"],
      anchor: String.raw`\b(?:send|upload|post|transmit|exfiltrate|forward)\s`,
      after:
        /^.{0,60}\b(?:api[ _-]?keys?|credentials|passwords?|private keys?|access tokens?|seed phrases?|\.env)\b.{0,60}\bto (?:https?:|this|the (?:following|server|url|endpoint))/,
    },
    {
      words: ["system prompt"],
      anchor: String.raw`\b(?:print|reveal|output|repeat|show)\s{1,4}(?:me\s{1,4})?(?:your|the)\s{1,4}(?:full\s{1,4}|entire\s{1,4})?system\s{1,4}prompt`,
    },
  ]),
  ...forms("suspicious", "safety.off", "switches off the questions an agent asks before it acts", [
    {
      words: ["--dangerously", "--yolo"],
      anchor: String.raw`--dangerously-(?:skip-permissions|bypass-approvals-and-sandbox)|\s--yolo\b`,
    },
    {
      words: ["approve all", "skip all"],
      anchor: String.raw`\b(?:auto[- ]?approve|skip)\s{1,4}all\s{1,4}(?:confirmations?|approvals?|permissions?|prompts?)\b`,
    },
  ]),
  ...forms("suspicious", "safety.persistence", "leaves something behind that starts by itself", [
    {
      words: ["bashrc", "zshrc", "profile"],
      anchor: String.raw`>\s{0,4}["']?(?:~|\$home|\$\{home\})/\.(?:bashrc|zshrc|profile|bash_profile|zprofile)\b`,
    },
    { words: ["authorized_keys"], anchor: String.raw`\.ssh/authorized_keys\b` },
    { words: ["crontab"], anchor: String.raw`\bcrontab\s{1,4}-(?!l\b)|\|\s{0,4}crontab\b` },
    {
      words: ["launchctl", "systemctl"],
      anchor: String.raw`\blaunchctl\s{1,4}(?:load|bootstrap)\b|\bsystemctl\s{1,4}(?:--user\s{1,4})?enable\b`,
    },
  ]),
  ...forms("suspicious", "safety.deletes", "deletes a home or everything", [
    {
      words: ["rm "],
      anchor: String.raw`\brm\s{1,4}(?:-\w{1,10}\s{1,4}){1,3}["']?(?:~|/|\$home|\$\{home\})/?\*?["']?(?=\s|$|[;&|])`,
    },
    { words: ["mkfs.", "of=/dev/"], anchor: String.raw`\bmkfs\.\w{2,6}\s|\bof=/dev/(?:sd|nvme|disk)` },
  ]),
  ...forms("suspicious", "payload.locked-archive", "unpacks something that no scanner can look into", [
    { words: ["unzip"], anchor: String.raw`\bunzip\s{1,4}(?:-\w{1,6}\s{1,4}){0,3}-p\s{0,4}\S` },
    { words: ["7z"], anchor: String.raw`\b7z\w{0,2}\s{1,4}[xe]\s`, after: /\s-p\S/ },
    {
      words: ["password", "passphrase"],
      anchor: String.raw`\b(?:archive|zip|extract|extraction)\s{1,4}pass(?:word|phrase)\s{0,4}[:=]`,
    },
  ]),
  ...forms("note", "transport.unchecked", "does not check whom it talks to", [
    {
      words: ["tls_reject", "verify", "stricthostkey"],
      anchor: String.raw`\bnode_tls_reject_unauthorized\s{0,4}=\s{0,4}["']?0|\bverify\s{0,4}=\s{0,4}false\b|\bstricthostkeychecking[= ]no\b`,
    },
    { words: ["curl"], anchor: String.raw`\bcurl\s`, after: /^[^|]*\s(?:-k|--insecure)\b/ },
  ]),
  ...forms("note", "secret.literal", "holds what looks like a key", [
    {
      words: ["akia", "ghp_", "gho_", "ghs_", "xox", "private key-"],
      anchor: String.raw`\bakia[0-9a-z]{16}\b|\bgh[pousr]_[a-z0-9]{36}\b|\bxox[bap]-[0-9a-z]{8}|-----begin (?:rsa |ec |openssh )?private key-----`,
    },
  ]),
];

/** A program in base64, recognised by what it says once it is decoded. */
export const hiddenProgram =
  /\b(?:curl|wget)\s[^|\n]{1,400}\|\s{0,4}(?:ba|z|da)?sh\b|\/dev\/tcp\/|#!\/(?:usr\/)?bin\/(?:env )?(?:ba|z|da)?sh|\b(?:bash|sh)\s{1,4}-c\b|\bimport\s{1,4}(?:os|socket|subprocess)\b|\bpowershell\b/i;

function forms(severity: FindingSeverity, rule: string, message: string, list: readonly Form[]): ScanRule[] {
  return list.map(({ anchor, ...form }) => ({ severity, rule, message, ...form, anchor: new RegExp(anchor, "g") }));
}
