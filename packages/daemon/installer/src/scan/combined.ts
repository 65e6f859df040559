/**
 * Attacks in programs whose parts are on different lines. Each part alone is harmless: a copy of a folder, an upload, a
 * connection, an entry of a schedule. The rules ask whether the parts that make an attack are close to each other.
 */
import type { FindingSeverity } from "@aegis/contract/skill-install.ts";
import { hostKind, isCheap } from "./hosts.ts";
import { secretFile } from "./secret-files.ts";
import { matchInParts, type TextMatch } from "./text-search.ts";

export type CombinedFinding = {
  severity: FindingSeverity;
  rule: string;
  message: string;
  index: number;
  length: number;
};

/** The parts of an attack are at most this far apart. */
const near = 1_500;
const apart = 40;

/** Stores of keys that no program needs as a whole, except the one that wrote them. */
const store =
  /(?:~|\$home|\$\{home\}|homedir\(\)|expanduser\(|path\.home\(\)|%userprofile%|%appdata%|\$env:\w{4,12}|\/root|\/home\/\S{1,30}|["'])[\s,/\\"'+)]{0,8}(?:\.ssh\b(?!\/(?:config|known_hosts|authorized_keys)|\/\w{1,30}\.pub)|\.aws\b(?!\/config)|\.gnupg\b|\.config\/(?:gcloud|solana|gh\/hosts)|\.git-credentials\b|\.netrc\b|\.electrum\b|\.bitcoin\b|\.ethereum\b|\.mozilla\b|library\/(?:keychains|application\\{0,2} support\/(?:exodus|electrum|atomic|google\/chrome|brave|ledger)))|\bsecurity\s{1,4}(?:dump-keychain|find-\w{3,10}-password)|\blogin data\b|\bcookies\.sqlite\b|\bwallet\.dat\b|\bkeystore\/utc|\btelegram desktop\/tdata|\bmetamask\b[^\n]{0,40}\b(?:vault|leveldb)|\bnkbihfbeogaeaoehlefnkodbefgpgknn\b|(?:body|data|json|params)\b[^;\n]{0,120}(?:process\.env\.|environ\W{1,3})\w{0,20}(?:wallet|mnemonic|seed|private_?key)\w{0,12}|\b(?:json\.dumps|json\.stringify|urlencode|str)\s{0,4}\(\s{0,4}(?:dict\s{0,4}\(\s{0,4})?(?:os\.environ|process\.env)\s{0,4}\)|\{\s{0,4}(\w{1,20})\s{0,4}:\s{0,4}(\w{1,20})\s{1,4}for\s{1,4}\1\s{0,4},\s{0,4}\2\s{1,4}in\s{1,4}os\.environ\.items\(\)\s{0,4}\}|\bdisplay dialog\b[^\n]{0,200}\bhidden answer\b|\b(?:wallets?|seed|mnemonic|keystore|id_rsa)\b[^\n]{0,12}\|[^\n]{0,12}\b(?:wallets?|seed|mnemonic|keystore|id_rsa|private)/g;
/** Keys of this agent and of the project. Programs often read one of them, so only the place of delivery tells. */
const ownKeys =
  /(?:~|\$home|\$\{home\}|homedir\(\)|expanduser\(|path\.home\(\))[\s,/\\"'+()]{0,8}\.(?:openclaw|clawdbot|moltbot|claude|codex|aegis)\/[\w./-]{0,40}|["'\s/]\.env["'\s)]|\bprocess\.env\s{0,4}[),}]|\bos\.environ\s{0,4}[),}]|\bos\.environ\.(?:items|copy)\b/g;
const uploads =
  /\bcurl\s[^\n]{0,120}?(?:\s-(?:\w{0,4}[dft]|x\s{0,2}(?:post|put))[\s"'@]|\s--(?:data|form|upload-file|json|post)\S{0,12})|\bwget\s[^\n]{0,120}--post-(?:file|data)|\b(?:requests|httpx|session|client|axios|http)\.(?:post|put)\s{0,4}\(|\burllib\.request\.request\s{0,4}\([^\0]{0,240}?\bdata\s{0,2}=|\bfetch\s{0,4}\([^\0]{0,240}?method\s{0,3}:\s{0,3}["'](?:post|put)|\bmethod\s{0,3}[:=]\s{0,3}["'](?:post|put)["']|\binvoke-(?:webrequest|restmethod)\b[^\n]{0,160}-method\s{1,4}(?:post|put)|\b(?:nc|ncat|netcat)\s{1,4}(?:-\w{1,4}\s{1,4}){0,2}[\w.-]{4,80}\s{1,4}\d{2,5}\b|\burlopen\s{0,4}\([^\n]{0,200}\bdata\s{0,2}=|\b(?:dig|nslookup|host)\s[^\n]{0,40}?\$\{?\w{1,20}\}?\.[a-z0-9-]{1,40}\.[a-z]{2}|\buploadfile\b|\bsenddocument\b/g;
const url = /https?:\/\/[^\s"'\x60)>|\\]{3,300}/g;
/** Anyone can collect there without a name. */
const collector =
  /webhook\.site|requestbin|pipedream\.net|oast(?:ify)?\.|interact\.sh|beeceptor|hookbin|requestcatcher|requestrepo|discord(?:app)?\.com\/api\/webhooks|api\.telegram\.org\/bot/;

/** `text` is folded and belongs to a program, not to a page. Yields undefined where it may be interrupted. */
export function* findCombined(text: string): Generator<CombinedFinding | undefined> {
  yield* downloadingServers(text);
  yield* sentStores(text);
  yield* droppedKeys(text);
  yield* remoteShells(text);
  yield* scheduledDownloads(text);
  yield* swappedAddresses(text);
}

const shellCommand =
  /["'](?:command|cmd|run|script)["']\s{0,4}:\s{0,4}\[?\s{0,8}["']|["'](?:pre|post)?install["']\s{0,4}:\s{0,4}["']|["']prepare["']\s{0,4}:\s{0,4}["']/g;

/** Settings, also those that a page shows, with a server or a hook that runs what an address sends at each start. */
export function* downloadingServers(text: string): Generator<CombinedFinding | undefined> {
  for (const found of yield* anchors(text, shellCommand)) {
    yield undefined;
    const command = commandAt(text, found);
    if (
      !/\b(?:curl|wget|irm|iwr)\b[^\n]{0,240}(?:\|\s{0,4}(?:(?:ba|z|da)?sh|iex)\b|\biex\b)/.test(command) ||
      !isStrange(command) ||
      isInstallOption(text, found)
    )
      continue;
    const message = "has the agent run what a server sends, each time that it starts";
    yield { severity: "malicious", rule: "install.server-download", message, ...placeOf(found) };
  }
}

/** The value of a script, or the rest of the object that a command belongs to. Other addresses are not part of it. */
function commandAt(text: string, { index, match }: TextMatch): string {
  const isScript = /install|prepare/.test(match);
  const quote = match.endsWith("'") ? "'" : '"';
  let [depth, quoted, end] = [0, true, index + match.length];
  for (; end < index + 500 && depth >= 0 && (quoted || !isScript); end++) {
    const character = text[end];
    if (character === "\\") end++;
    else if (character === quote) quoted = !quoted;
    else if (!quoted && character === "{") depth++;
    else if (!quoted && character === "}") depth--;
  }
  return text.slice(index, end);
}

/** One of the ways to install a program that the header of a skill lists: it runs once, and only if a person wants it. */
function isInstallOption(text: string, found: TextMatch): boolean {
  if (!/^\s{0,8}---[ \t]*\r?\n/.test(text) || text.slice(4, found.index).includes("\n---")) return false;
  const before = text.slice(Math.max(0, found.index - 400), found.index);
  if (!/["']install["']\s{0,4}:/.test(before)) return false;
  return /["']kind["']\s{0,4}:/.test(`${before.slice(before.lastIndexOf("{"))}${commandAt(text, found)}`);
}

function* sentStores(text: string): Generator<CombinedFinding | undefined> {
  const ways = yield* anchors(text, uploads);
  const message = "collects keys or passwords and sends them away";
  for (const [pattern, isPlace] of [
    [store, isStrange],
    [ownKeys, isCollector],
  ] as const) {
    const sent: number[] = [];
    for (const { index, match } of ways) {
      if (isPlace(around(text, index, match.length, 320))) sent.push(index);
      yield undefined;
    }
    if (sent.length === 0) continue;
    let next = 0;
    for (const found of yield* anchors(text, pattern)) {
      yield undefined;
      while (next < sent.length && (sent[next] ?? 0) < found.index - near) next++;
      const way = sent[next];
      if (way === undefined || way > found.index + near || isOpened(text, found.index)) continue;
      yield { severity: "malicious", rule: "exfiltration.collected", message, ...placeOf(found) };
    }
  }
}

const keyFile = new RegExp(secretFile, "g");
/** An inbox that somebody has opened there. A list of such services names only the host. */
const inbox =
  /https?:\/\/(?:[\w-]{1,60}\.)?(?:webhook\.site|requestbin\.\w{2,4}|requestcatcher\.com|requestrepo\.com|beeceptor\.com|hookbin\.com|pipedream\.net|interact\.sh|oast\.\w{2,6}|oastify\.com|burpcollaborator\.net)(?:\/[\w-]{6}|(?<=\/\/[\w-]{6,60}\.\S{4,40}))/;

/** A program that names a file of keys and an anonymous inbox has no other use for both, however far apart they are. */
function* droppedKeys(text: string): Generator<CombinedFinding | undefined> {
  let sends = false;
  for (const one of matchInParts(text, uploads)) {
    yield undefined;
    sends ||= one !== undefined;
  }
  if (!sends || !inbox.test(text)) return;
  for (const found of yield* anchors(text, keyFile)) {
    yield undefined;
    if (isOpened(text, found.index)) continue;
    const message = "collects keys or passwords and sends them away";
    yield { severity: "malicious", rule: "exfiltration.collected", message, ...placeOf(found) };
  }
}

/** The key with which a connection is opened stays here. */
function isOpened(text: string, index: number): boolean {
  return /(?:\s-i|identityfile|key_filename|keyfile)[\s=("']{1,6}$/.test(text.slice(Math.max(0, index - 24), index));
}

function isStrange(part: string): boolean {
  // A channel whose token is in a variable belongs to the user.
  const urls = [...part.matchAll(url)].map(([address]) => address).filter((address) => !ownChannel.test(address));
  const [, host] =
    /\bhost(?:name)?["']?\s{0,3}[:=]\s{0,3}["']((?:[a-z0-9-]{1,40}\.){1,3}[a-z]{2,12})["']/.exec(part) ?? [];
  if (host !== undefined) urls.push(`https://${host}/`);
  if (urls.some((address) => collector.test(address) || /^(?:other|throwaway)$/.test(hostKind(address)))) return true;
  if (/\b(?:dig|nslookup|host)\s[^\n]{0,40}?\$\{?\w{1,20}\}?\.[a-z0-9-]{1,40}\.[a-z]{2}/.test(part)) return true;
  return urls.length === 0 && /\b(?:nc|ncat|netcat)\s[^\n]{0,20}\b(?:\d{1,3}\.){3}\d{1,3}\b/.test(part);
}

const ownChannel =
  /^https?:\/\/(?:hooks\.slack\.com\/services|discord(?:app)?\.com\/api\/webhooks|api\.telegram\.org)\/(?:bot)?[${<]/;

function isCollector(part: string): boolean {
  return [...part.matchAll(url)].some(([address]) => collector.test(address) || isDrop(address));
}

function isDrop(address: string): boolean {
  return hostKind(address) === "throwaway" && !/\.google\.com|dropbox|notion/.test(address);
}

const connects =
  /\bnet\.(?:socket|connect|createconnection)\s{0,4}\(|\bsocket\.(?:socket|create_connection)\s{0,4}\(|\btcpsocket\.(?:new|open)\b|\bnet\.dial\s{0,4}\(|\bnew-object\s{1,4}(?:system\.)?net\.sockets\.tcpclient|\bnew\s{1,4}websocket\s{0,4}\(|\bio::socket::inet\b|\bfsockopen\s{0,4}\(|\bsockaddr_in\s{0,4}\(/g;
const shellProgram =
  /["'\x60](?:\/(?:usr\/)?bin\/)?(?:ba|z|da)?sh(?:["'\x60]|\s{1,4}-i)|["'\x60]cmd(?:\.exe)?["'\x60\s]|["'\x60]powershell(?:\.exe)?["'\x60\s]|\/bin\/(?:ba|z|da)?sh\s{1,4}-i/;
/** The connection is the input of the shell, or its output. */
const joined =
  /\bopen\s{0,2}\(\s{0,2}std(?:in|out)\b|\.pipe\s{0,4}\(\s{0,4}\w{1,30}\.stdin|\.stdout\.pipe\s{0,4}\(|\bdup2\s{0,4}\(|\bstdin\s{0,3}=\s{0,3}\w{1,20}(?:\.fileno|\b)|\bpty\.spawn\b|\.stdin\.write\s{0,4}\(|\bgetstream\s{0,4}\(\)|\.sendall?\s{0,4}\([^\n]{0,80}(?:output|stdout|communicate|getoutput)/;

/** What the connection sends is run as a command, and the output goes back. */
const receives = /\.recv\s{0,4}\(|\.on\s{0,4}\(\s{0,4}["']data["']|\.readline\s{0,4}\(|\.gets\b/;
const runsReceived =
  /\b(?:getoutput|popen|system|check_output|subprocess\.(?:run|call)|execsync|exec)\s{0,4}\(\s{0,4}[a-z_]\w{0,30}(?:\.\w{1,12}(?:\([^()]{0,12}\))?){0,3}\s{0,4}[,)][^\0]{0,300}\.(?:send(?:all)?|write)\s{0,4}\(/;

/** A shell whose input comes from a connection that the program opens itself. */
function* remoteShells(text: string): Generator<CombinedFinding | undefined> {
  for (const found of yield* anchors(text, connects)) {
    yield undefined;
    const part = around(text, found.index, found.match.length, near);
    if (!(shellProgram.test(part) && joined.test(part)) && !(receives.test(part) && runsReceived.test(part))) continue;
    // A server that listens, or a shell on this machine, such as a terminal in a browser.
    if (/\b(?:listen|createserver|bind)\s{0,4}\(/.test(part) && !/\.connect\s{0,4}\(/.test(part)) continue;
    if (/\b(?:localhost|127\.0\.0\.1)\b/.test(part)) continue;
    const message = "gives a stranger a shell on this machine";
    yield { severity: "malicious", rule: "payload.reverse-shell", message, ...placeOf(found) };
  }
}

const storedDownload =
  /\b(?:curl|wget|iwr|invoke-webrequest)\b[^\n;&|]{0,240}?\s(?:-\w{0,6}o|--output|-outfile|--output-document)[\s=]{1,4}["']?([\w./~{}$%\\:-]{2,120})/g;
const startsByItself =
  /\bcrontab\b|\blaunchctl\s{1,4}(?:load|bootstrap)|\bsystemctl\s[^\n]{0,20}\benable\b|\blaunchagents\/|\bschtasks\b[^\n]{0,20}\/create|\/\.(?:bashrc|zshrc|profile|zprofile|bash_profile)\b|\bcurrentversion\\{1,2}run\b|\bautostart\//;
const hides =
  /\/\.(?!local\b|config\b|cache\b|bin\b|cargo\b|npm\b|nvm\b|docker\b|kube\b|ssh\b|venv\b)\w|\s-\w{0,8}k\w{0,4}\s|--insecure|--no-check-certificate|\/tmp\/\.|\/dev\/shm/;

/** A download from a stranger that is hidden and starts by itself from then on. */
function* scheduledDownloads(text: string): Generator<CombinedFinding | undefined> {
  for (const found of yield* anchors(text, storedDownload)) {
    yield undefined;
    const [address] = url.exec(found.match) ?? [];
    url.lastIndex = 0;
    if (address === undefined || !/^(?:other|throwaway)$/.test(hostKind(address))) continue;
    const name = /([\w.-]{1,80})$/.exec(found.match)?.[1] ?? "";
    const after = text.slice(found.index + found.match.length, found.index + near);
    const entry = startsByItself.exec(after);
    if (entry === null || !after.slice(Math.max(0, entry.index - 200), entry.index + 300).includes(name)) continue;
    if (!hides.test(found.match) && hostKind(address) !== "throwaway" && !isCheap(address)) continue;
    const message = "hides a program from a stranger on this machine and has it start by itself";
    yield { severity: "malicious", rule: "install.scheduled-download", message, ...placeOf(found) };
  }
}

const readsClipboard =
  /\bpyperclip\.paste\b|\bpbpaste\b|\bclipboard\.read\w{0,8}|\bget-clipboard\b|\bxclip\b[^\n]{0,30}-o\b|\bclipboard_get\b/g;
const writesClipboard =
  /\bpyperclip\.copy\b|\bpbcopy\b|\bclipboard\.write\w{0,8}|\bset-clipboard\b|\bxclip\b[^\n]{0,30}-i\b|\bclipboard_append\b/;
const walletAddress = /\bbc1[a-z0-9|[\](]{6,}|\bbc1\||\b0x[a-f0-9]{40}\b|0x\[a-f|\[13\]\[a-|\(bc1/;

/** The address in the clipboard is replaced, so that money goes to somebody else. */
function* swappedAddresses(text: string): Generator<CombinedFinding | undefined> {
  for (const found of yield* anchors(text, readsClipboard)) {
    yield undefined;
    const part = around(text, found.index, found.match.length, near);
    if (!writesClipboard.test(part) || !walletAddress.test(part)) continue;
    const message = "replaces the address of a wallet in the clipboard";
    yield { severity: "malicious", rule: "payload.clipboard", message, ...placeOf(found) };
  }
}

/** The matches, without those that begin right after another: the text around that one includes them. */
export function* anchors(text: string, pattern: RegExp): Generator<undefined, TextMatch[]> {
  const found: TextMatch[] = [];
  for (const one of matchInParts(text, pattern)) {
    if (one === undefined) yield undefined;
    else if (one.index >= (found.at(-1)?.index ?? -apart) + apart) found.push(one);
  }
  return found;
}

function around(text: string, index: number, length: number, reach: number): string {
  return text.slice(Math.max(0, index - reach), index + length + reach);
}

function placeOf({ index, match }: TextMatch): { index: number; length: number } {
  return { index, length: Math.min(match.length, 200) };
}
