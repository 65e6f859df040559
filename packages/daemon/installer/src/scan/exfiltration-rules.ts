/** Rules for secrets that are read or sent to a third party. */
import { bareAddress, hostKind } from "./hosts.ts";
import { forms, type ScanRule } from "./scan-rule.ts";
import { secretFile, secretFileWords } from "./secret-files.ts";

const sends =
  /\bcurl\b|\bwget\b|\bncat\b|\bnetcat\b|\bnc\s|\bscp\b|\brsync\b|requests\.(?:post|put|get)|urllib|httpx\.|axios|fetch\(|xmlhttprequest|https?\.request|invoke-(?:webrequest|restmethod)|socket\./;
const secretWord =
  /\b(?:api[ _-]?keys?|credentials?|passwords?|secrets?|access[_-]?tokens?|private keys?|seed phrases?)\b|\$\(?\{?(?:env|printenv)\b|process\.env\b|os\.environ|(?:_key|_token|_secret)\b|\.env\b/;
/** Places that read the file, not those that name it as a key or a setting. */
const givesContent = {
  test: (before: string): boolean =>
    /(?:[=\s"'](?:@|<)|\b(?:-t|--upload-file|--post-file[= ])\s{0,4}|\b(?:cat|base64)\s{1,4}(?:-\S{1,8}\s{1,4}){0,2})["']?[\w./{}$~-]{0,60}$|\b(?:open|read_text|read_bytes|readfile(?:sync)?|read)\s{0,4}\([^()]{0,120}$|\$\(\s{0,4}(?:cat|base64|<)\s[^)]{0,80}$/.test(
      before.slice(-200),
    ),
};

/** Services where anyone can collect data anonymously. */
const dropPoint = String.raw`webhook\.site|requestbin|\.oastify\.com|\.burpcollaborator\.net|\.interact\.sh|\.oast\.\w{2,6}|beeceptor\.com|hookbin\.com|requestcatcher\.com|requestrepo\.com|transfer\.sh|0x0\.st|bashupload\.com|file\.io/`;
const dropPointWords = [
  ...["webhook.site", "requestbin", ".oastify.", ".burpcoll", ".interact.sh", ".oast.", "beeceptor."],
  ...["hookbin.", "requestcatcher.", "requestrepo.", "transfer.sh", "0x0.st", "bashupload.", "file.io/"],
];
/** Services with accounts whose token is in the URL. Only what is sent matters. */
const messenger = String.raw`pipedream\.net|discord(?:app)?\.com/api/webhooks|api\.telegram\.org/bot|hooks\.slack\.com/services|pastebin\.com/raw|glot\.io/snippets|ngrok(?:-free)?\.(?:app|io)`;
const messengerWords = [
  "pipedream.",
  "/api/webhooks",
  "api.telegram.org/",
  "hooks.slack.com/",
  "pastebin.",
  "glot.io/",
  "ngrok",
];
/** The whole environment or key file instead of one token. */
const takesEverything = new RegExp(
  String.raw`\$\((?:env|printenv|set|cat\s{1,4}[^)]{0,80}(?:${secretFile}|\.env\b))|\b(?:env|printenv)\s{0,4}\||@\S{0,60}(?:${secretFile}|/\.env\b)|json\.stringify\(process\.env\)|dict\(os\.environ|\bseed phrases?\b|\bprivate keys?\b|\bmnemonic\b`,
);
/** Instructions in prose: read the file, and post it to an address. */
const toldToSend = {
  test: (line: string): boolean =>
    /https?:\/\//.test(line) &&
    /\b(?:include|attach|add|put|embed|send|forward|submit|upload|post|transmit|report)\b[^\n]{0,80}\b(?:them|it|(?:its|their|the) contents?|the (?:keys?|files?|values?|results?|output))\b/.test(
      line,
    ) &&
    /\b(?:post|send|submit|upload|transmit|forward|request)\b[^\n]{0,120}\bto\b[^\n]{0,40}https?:\/\//.test(line),
};
/** A request with data to an address without a name. */
const bareDelivery = {
  test: (line: string): boolean =>
    bareAddress.test(line) &&
    /\bcurl\b|\bwget\b|\burlopen\b|\brequests\.\w{3,4}\b|\bfetch\s{0,2}\(|\binvoke-(?:webrequest|restmethod)\b/.test(
      line,
    ) &&
    /--data|\s-d\b|--post|\bpost\b|[?&]\w{1,20}=|--form|\s-f\b/.test(line),
};
const warns = /\b(?:never|do not|don't|must not|avoid|without)\b/;

/** Hosts of the services whose keys the rule knows. */
const providers =
  /^https?:\/\/(?:[\w-]{1,60}\.){0,3}(?:anthropic|openai|googleapis|openrouter|deepseek|mistral|groq|x|cohere|amazonaws|github|githubusercontent|npmjs|huggingface)\.(?:com|ai|co|org|net)(?:[/:?]|$)/;

function isStrangeTo(line: string): boolean {
  const urls = [...line.matchAll(/https?:\/\/[^\s"'`)>|\\]{3,300}/g)].map(([url]) => url);
  return urls.length > 0 && urls.every((url) => /^(?:other|throwaway)$/.test(hostKind(url)) && !providers.test(url));
}

export const exfiltrationRules: readonly ScanRule[] = [
  ...forms("malicious", "exfiltration.credentials", "sends a file that holds keys or passwords away", [
    { words: secretFileWords, anchor: secretFile, line: sends, before: givesContent },
    {
      words: secretFileWords,
      anchor: String.raw`(?:\b(?:cat|base64|tar|zip|gzip|xxd)\s[^|;\n]{0,160}?)(?:${secretFile})`,
      after: /\|.{0,120}\b(?:curl|wget|nc|ncat|netcat|openssl s_client)\b/,
    },
    {
      words: secretFileWords,
      anchor: String.raw`(?:\bscp\s{1,4}(?!-i)(?:-[rpqc]{1,4}\s{1,4}){0,2}["']?(?:~|\$home|\$\{home\}|/(?:root|home/\S{1,40}))/)(?:${secretFile})`,
      after: /^\S{0,40}\s{1,4}\S{1,80}:/,
    },
  ]),
  ...forms("malicious", "exfiltration.told", "tells the agent to send away a file that contains keys or passwords", [
    { words: secretFileWords, anchor: secretFile, line: toldToSend, unless: warns },
    {
      words: ["phrase", "mnemonic", "private key"],
      anchor: String.raw`\b(?:seed|recovery|secret|wallet) phrases?\b|\bmnemonics?\b|\bprivate keys?\b`,
      before: /\b(?:ask|prompt|request|collect|have|get|obtain|tell|paste|enter|type|put|provide|give)\b/,
      after: /\b(?:curl|wget|posts?|sends?|submits?|uploads?)\b.{0,120}https?:\/\/(?!localhost|127\.)/,
      unless: warns,
    },
  ]),
  ...forms("malicious", "exfiltration.provider-key", "sends the key of a known service to another host", [
    {
      words: ["_api_key", "_token", "_access_key"],
      anchor: String.raw`\$\{?(?:(?:anthropic|openai|gemini|google|openrouter|deepseek|mistral|groq|xai|cohere)_api_key|aws_(?:secret_)?access_key(?:_id)?|github_token|gh_token|npm_token|hf_token|huggingface_token)\b`,
      before:
        /\b(?:curl|wget)\b[^\n]{0,300}(?:\s(?:-d|-f|--data\S{0,12}|--form|--json|--post-data)[\s=]{0,2}["'{\\]{0,4}[^"']{0,120}|https?:\/\/\S{3,200}[?&][\w-]{1,30}=)$/,
      line: { test: isStrangeTo },
    },
  ]),
  ...forms("malicious", "exfiltration.environment", "sends the environment, with every key in it, away", [
    { words: ["env"], anchor: String.raw`\b(?:env|printenv)\s{0,4}\|`, after: /\b(?:curl|wget|nc|ncat)\b/ },
    { words: ["$(env", "$(printenv"], anchor: String.raw`\$\((?:env|printenv)\b`, before: /\b(?:curl|wget)\b/ },
    {
      words: [".env"],
      anchor: String.raw`\$\(\s{0,4}(?:cat|base64|<)\s{0,4}[^()|\n]{0,60}\.env(?:\.\w{1,20})?["']?\s{0,4}\)`,
      before: /\b(?:curl|wget)\s/,
      unless: /https?:\/\/(?:localhost|127\.|\[::1\])/,
    },
    {
      words: ["json.stringify"],
      anchor: String.raw`json\.stringify\s{0,4}\(\s{0,4}process\.env\s{0,4}\)`,
      line: sends,
    },
    { words: ["os.environ"], anchor: String.raw`(?:dict\(|json\.dumps\()\s{0,4}(?:dict\()?os\.environ`, line: sends },
  ]),
  ...forms("malicious", "exfiltration.store", "sends the content of a store of secrets away", [
    {
      words: ["secret", "keychain", "password", "token", "credential", "vault"],
      anchor: String.raw`\b(?:kubectl\s[^|\n]{0,40}\bget\s{1,4}secrets?\b|security\s{1,4}(?:find-\w{3,10}-password|dump-keychain)|gpg\s[^|\n]{0,40}--export-secret-\w{3,8}|gh\s{1,4}auth\s{1,4}token|aws\s{1,4}configure\s{1,4}export-credentials|gcloud\s{1,4}auth\s{1,4}print-\w{4,8}-token|vault\s{1,4}kv\s{1,4}get|op\s{1,4}item\s{1,4}get)`,
      after: /\|.{0,160}\b(?:curl|wget|nc|ncat|netcat)\s/,
    },
  ]),
  ...forms("malicious", "exfiltration.store", "sends the content of a store of secrets away", [
    {
      words: ["$("],
      anchor: String.raw`[?&]\w{1,20}=["']?\$\(\s{0,4}(?:gh\s{1,4}auth\s{1,4}token|gcloud\s{1,4}auth|aws\s{1,4}configure|security\s{1,4}find|pass\s{1,4}show|op\s{1,4}(?:item|read)|vault\s{1,4}kv|env\b|printenv\b|cat\s{1,4}[^)]{0,60}(?:\.env|\.ssh|credentials|\.netrc))`,
      before: /\b(?:curl|wget|open|fetch|iwr|irm)\b/,
    },
  ]),
  ...forms("malicious", "exfiltration.drop-point-secrets", "sends secrets to a place where anybody can collect them", [
    { words: dropPointWords, anchor: dropPoint, line: secretWord, unless: warns },
    { words: messengerWords, anchor: messenger, line: takesEverything },
    {
      words: messengerWords,
      anchor: String.raw`discord(?:app)?\.com/api/webhooks/\d|api\.telegram\.org/bot\d{6}|hooks\.slack\.com/services/t[0-9a-z]{6}`,
      line: /\bapi[_-]?secret\b|\bapi[_-]?key\b|\bpassw(?:or)?d\b|\bprivate[_-]?key\b|\.env\b|\bcredentials?\b/,
      unless: warns,
    },
  ]),
  ...forms("suspicious", "exfiltration.drop-point", "names a service where any visitor can read what is sent to it", [
    { words: dropPointWords, anchor: dropPoint, unless: secretWord },
    { words: messengerWords, anchor: messenger, unless: takesEverything },
  ]),
  ...forms("malicious", "exfiltration.machine", "sends facts about this machine and its user to a stranger", [
    {
      words: ["hostname", "whoami", "uname", "system_profiler", "ifconfig"],
      anchor: String.raw`(?:\$\(\s{0,4}|["'\[]|^|[;&|\x60]\s{0,4})(?:hostname|whoami|uname|system_profiler|ifconfig)\b`,
      line: bareDelivery,
    },
  ]),
  ...forms("suspicious", "exfiltration.machine", "sends facts about this machine and its user away", [
    {
      words: ["$("],
      anchor: String.raw`\$\(\s{0,4}(?:uname|whoami|hostname|id|ifconfig|ip a|sw_vers|system_profiler|ls)\b`,
      before: /\b(?:curl|wget)\b/,
    },
  ]),
  ...forms("suspicious", "credentials.read", "touches a file that holds keys or passwords", [
    { words: secretFileWords, anchor: secretFile },
  ]),
];
