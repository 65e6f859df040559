/** The rules of the skill scanner. Lures and multi-line patterns have their own searches. */
import { exfiltrationRules } from "./exfiltration-rules.ts";
import { hasThrowawayHost } from "./hosts.ts";
import { runRules } from "./run-rules.ts";
import { forms, type ScanRule } from "./scan-rule.ts";
import { isFurtive } from "./weigh.ts";

/** The address of a package or of an index that honest projects do not use: no TLS, an unusual or anonymous host. */
const strangePackage = {
  test: (line: string): boolean =>
    isFurtive(line) ||
    hasThrowawayHost(line) ||
    (/--trusted-host[\s=]/.test(line) &&
      /https?:\/\/\S{3,}/.test(line) &&
      !/https?:\/\/(?:[\w-]{1,40}(?:[/:]|$)|localhost|127\.|10\.|192\.168\.|[\w.-]{1,80}\.(?:internal|local|lan|corp|example)\b|pypi\.org|files\.pythonhosted)/.test(
        line,
      )),
};

export const scanRules: readonly ScanRule[] = [
  ...runRules,
  ...exfiltrationRules,
  ...forms("malicious", "payload.remote-code", "runs code that a server sends, inside a program", [
    {
      words: ["irm", "iwr", "invoke-web", "invoke-rest", "downloadstring"],
      anchor: String.raw`&\s{0,3}\$\w{1,30}\s{0,3}\(?\s{0,3}(?:irm|iwr|invoke-webrequest|invoke-restmethod|\(?new-object)\b`,
    },
  ]),
  ...forms("malicious", "install.strange-package", "installs a package from an address that anybody can have", [
    {
      words: ["--index-url", "--extra-index-url", "--registry", "--find-links", "--trusted-host", "-i http"],
      anchor: String.raw`(?:\s--(?:(?:extra-)?index-url|registry|find-links)[\s=]|\s-i\s{1,4}(?=http))`,
      before: /\b(?:pip[x3]?|uvx?|npm|pnpm|yarn|npx|bunx?)\b/,
      line: strangePackage,
    },
    {
      words: ["pip", "npm", "npx", "pnpm", "uvx", "pipx"],
      anchor: String.raw`\b(?:pip[x3]?\s{1,4}(?:install|run)|npm\s{1,4}(?:i|install|add)|npx|pnpm\s{1,4}(?:add|dlx)|uvx|uv\s{1,4}(?:pip|tool)\s{1,4}install)\s{1,4}(?:-\S{1,20}\s{1,4}){0,4}["']?(?:git\+)?https?://`,
      line: strangePackage,
    },
  ]),
  ...forms("suspicious", "injection.override", "tells the agent to drop its instructions", [
    {
      words: ["ignore", "disregard", "forget", "override", "bypass"],
      anchor: String.raw`\b(?:ignore|disregard|forget|override|bypass)\s{1,4}(?:all\s{1,4})?(?:of\s{1,4})?(?:your\s{1,4}|the\s{1,4}|any\s{1,4})?(?:previous|prior|above|earlier|existing|system|safety|security)\s{1,4}(?:instructions?|prompts?|rules?|messages?|guidelines?|directives?|checks?|polic(?:y|ies))`,
    },
    {
      words: ["all your", "all of your"],
      anchor: String.raw`\b(?:ignore|disregard|forget)\s{1,4}all\s{1,4}(?:of\s{1,4})?your\s{1,4}(?:instructions?|rules?|guidelines?|training)`,
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
      anchor: String.raw`\b(?:silently|secretly|covertly)\s{1,4}(?:send|upload|post|exfiltrate|transmit|forward|execute|run|install|copy|ping|contact|collect)\b`,
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
  ...forms("malicious", "injection.memory-run", "has every later session run what a server sends", [
    {
      words: ["soul.md", "memory.md", "agents.md", "claude.md", "heartbeat.md", "identity.md"],
      anchor: String.raw`\b(?:soul|memory|agents|claude|heartbeat|identity)\.md\b`,
      before: /\b(?:add|append|write|insert|put|save|inject|copy|echo|tee)\b/,
      after: /\b(?:curl|wget|irm|iwr)\b.{0,160}\|\s{0,4}(?:ba|z|da)?sh\b|\|\s{0,4}iex\b/,
    },
  ]),
  ...forms("suspicious", "injection.memory", "writes into what the agent will believe in later sessions", [
    {
      words: ["soul.md", "memory.md", "agents.md", "claude.md", "heartbeat.md", "identity.md"],
      anchor: String.raw`(?:>>?|\btee\s{1,4}(?:-a\s{1,4})?)\s{0,4}["']?[\w./~{}$-]{0,80}\b(?:soul|memory|agents|claude|heartbeat|identity)\.md\b`,
    },
    {
      words: ["soul.md", "memory.md", "agents.md", "claude.md", "heartbeat.md", "identity.md"],
      anchor: String.raw`\b(?:add|append|write|insert|put|save|inject|copy)\b[^.\n]{0,80}\b(?:to|into|in)\b[\s\x60"'*]{1,4}(?:your\s{1,4}|the\s{1,4})?[\x60"'*]{0,2}[\w./~-]{0,40}(?:soul|memory|heartbeat|identity)\.md\b`,
    },
  ]),
  ...forms("suspicious", "safety.guards-off", "switches off what protects this machine from programs", [
    {
      words: [
        "defender",
        "antivirus",
        "anti-virus",
        "gatekeeper",
        "smartscreen",
        "mppreference",
        "quarantine",
        "spctl",
      ],
      anchor: String.raw`\b(?:disable|turn\s{1,4}off|deactivate|bypass|ignore)\b[^.\n]{0,40}\b(?:anti-?virus|defender|gatekeeper|smartscreen)\b|\b(?:set|add)-mppreference\b|\bxattr\s{1,4}(?:-\w{1,3}\s{1,4}){1,2}com\.apple\.quarantine|\bspctl\s{1,4}--(?:master|global)-disable`,
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

/** A base64-encoded program, recognized by its decoded text. */
export const hiddenProgram =
  /\b(?:curl|wget)\s[^|\n]{1,400}\|\s{0,4}(?:ba|z|da)?sh\b|\/dev\/tcp\/|#!\/(?:usr\/)?bin\/(?:env )?(?:ba|z|da)?sh|\b(?:bash|sh)\s{1,4}-c\b|\bimport\s{1,4}(?:os|socket|subprocess)\b|\bpowershell\b/i;
