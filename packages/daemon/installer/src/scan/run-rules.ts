/** Rules for content that is downloaded or decoded and executed, and for shells opened to strangers. */
import { decodes } from "./decoders.ts";
import { bareAddress, hasThrowawayHost, hostKind, isCheap } from "./hosts.ts";
import { type Form, forms, type ScanRule } from "./scan-rule.ts";

const shellWord = String.raw`(?:bash|zsh|dash|ksh|fish|sh|python[23]?|perl|ruby|node|pwsh|powershell|osascript)\b`;
/** What may follow an interpreter that reads its program from the pipe: no program and no file of its own. */
const readsPipe = String.raw`(?=\s{0,4}(?:-\s{0,4})?(?:$|[\n|;&)"'\x60#<>\\]))`;
/** A shell that reads its program from a pipe. */
const pipedShell = String.raw`\|\s{0,4}(?:sudo\s{1,4}(?:-\w{1,8}\s{1,4}){0,3})?(?:/(?:usr/)?bin/)?(?:env\s{1,4})?(?:(?:bash|zsh|dash|ksh|fish|sh)\b(?!\s{1,4}(?:-\w{0,4}c\b|[\w./]{1,80}\.(?:sh|bash)\b))|(?:python[23]?(?:\.\d{1,2})?|perl|ruby|node|php|pwsh|powershell|osascript)\b${readsPipe}|xargs\s{1,4}(?:-\S{1,8}\s{1,4}){0,4}(?:bash|sh|zsh)\s{1,4}-c\b)`;
/** Requires an argument: a table may contain both words in adjacent cells. */
const downloads = /\b(?:curl|wget|aria2c)\s{1,4}[^|\s]/;
const powershellDownloads = /\b(?:downloadstring|irm|iwr|invoke-webrequest|invoke-restmethod)\b/;
const decodesAnything = new RegExp(decodes, "g");
/** Requires content to decode: a list of search words names only the decoder and the shell. */
const decodesSomething = {
  test(line: string): boolean {
    // The decoder directly precedes the shell.
    const near = line.slice(-300);
    for (const { 0: decoder, index } of near.matchAll(decodesAnything)) {
      // A program that is spelled out letter by letter is part of the command.
      if (/^(?:printf|echo|\$'|certutil)/.test(decoder)) return true;
      if (/\S\s{0,4}\|\s{0,4}(?:sudo\s{1,4})?$|<\s{0,4}\S{1,200}\s{0,4}$/.test(near.slice(0, index))) return true;
      const after = near.slice(index + decoder.length);
      if (/^["']?\s{1,4}["']?[^\s|"'\x60]|^[^|]{0,40}<|^(?:\\|x?[0-9a-f])/.test(after)) return true;
    }
    return false;
  },
};
const base64Decoder =
  /\b(?:g?base64|base32)\s{1,4}(?:-\w{1,3}\s{1,4}){0,2}(?:-d|-di|--d(?:ecode)?)\b|\bopenssl\b[^|]{0,120}\bbase64\b/;
const decodesBase64 = {
  test: (line: string): boolean => base64Decoder.test(line) && decodesSomething.test(line),
};
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
  // The program that downloads is in a variable.
  {
    words: ["sh", "python", "perl", "ruby", "node", "php"],
    anchor: pipedShell,
    before:
      /(?:^|[;&(\x60])\s{0,4}["']?\$\{?\w{1,40}(?:\[\w{1,3}\])?\}?["']?\s{1,4}(?:-\S{1,20}\s{1,4}){0,4}["']?(?:https?:\/\/|(?:[a-z0-9-]{1,40}\.){1,3}[a-z]{2,12}(?:\/|\s))[^|]{0,200}$/,
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

/** Whether a line has the address of a host that is neither known nor local. */
function strangeAddress(line: string): boolean {
  return [...line.matchAll(/https?:\/\/[^\s"'`)>|]{1,300}/g)].some(
    ({ 0: url }) => !/^(?:known|local)$/.test(hostKind(url)),
  );
}

/**
 * A package that the system installs from an address without a window. Vendors document this for administrators, with
 * the name of the package in the address; a page for everyone has no reason to hide it, or to have its name hidden.
 */
function silentPackage(line: string): boolean {
  if (!/\s\/(?:q[nbrf]?|quiet|passive)\b/.test(line)) return false;
  const urls = [...line.matchAll(/https?:\/\/[^\s"'`)>|&]{1,300}/g)].map(([url]) => url);
  return urls.some(
    (url) =>
      !/^(?:known|local)$/.test(hostKind(url)) &&
      (!/\.msix?(?:[?#]|$)/.test(url) || isCheap(url) || /\bstart\s[^|]{0,40}msiexec/.test(line)),
  );
}

const decoderWords = [
  ...[
    "base64",
    "base32",
    "openssl",
    "xxd",
    "gunzip",
    "zcat",
    "gzip",
    "bunzip2",
    "xz -",
    "n-za-m",
    "n-z",
    "64decode",
    "rev",
  ],
  ...["32decode", "16decode", "decode64", "a2b_", "unhexlify", "fromhex", "codecs.", "decompress", "marshal."],
  ...["atob", "buffer.from", "fromcharcode", "certutil", "\\x", "\\1", "\\0"],
];
/** Matching two expressions is not execution. */
const harmlessDecode = /\bdecodeuri|\.exec\s{0,4}\(|\bjson\.loads?\s{0,4}\(\s{0,4}(?:base64|gzip|zlib)/;
const bareOrThrowaway = { test: (line: string) => bareAddress.test(line) || hasThrowawayHost(line) };
/** On one line only; over several lines it is a common way to install a program. */
const downloadedProgram: Form = {
  words: ["chmod", "start-process"],
  anchor: String.raw`\bchmod\s{1,4}(?:[ugoa]{0,3}\+\w{0,2}x|[0-7]{3,4})\s{1,4}[^;&|\n]{1,120}(?:;|&&)\s{0,4}(?:sudo\s{1,4}|nohup\s{1,4})?["']?[.~/$]|\bstart-process\s`,
  before: /\b(?:curl|wget|iwr|invoke-webrequest|downloadfile)\b/,
};
/** A program in an archive that is downloaded, unpacked and run in one go. */
const downloadedArchive: Form = {
  words: ["unzip", "tar ", "expand-archive"],
  anchor: String.raw`\b(?:unzip|tar|expand-archive)\s[^;&|\n]{1,160}(?:;|&&)\s{0,4}(?:cd\s{1,4}[^;&|\n]{1,120}(?:;|&&)\s{0,4})?(?:sudo\s{1,4}|nohup\s{1,4})?(?:(?:ba|z)?sh\s{1,4}|\./|python[23]?\s{1,4}|start\s)["']?[\w./~$-]`,
  before: /\b(?:curl|wget|iwr|invoke-webrequest)\s/,
};
/** A package by address instead of by name, which no registry has checked. */
const packageByAddress: Form = {
  words: ["install", "npx", "pipx", "dlx"],
  anchor: String.raw`\b(?:npm|pnpm|yarn|bun|pip[23x]?|uv|gem|cargo|brew|npx|bunx)\b[^\n|;&]{0,80}?https?://[^\s"'\x60]{3,300}`,
};
const throwawayLine = { test: hasThrowawayHost };

/** Press Windows and R, paste, press Enter: the page has put a command on the clipboard. */
const runDialog: Form = {
  words: ["win", "+r", "+ r"],
  anchor: String.raw`(?:\bwin(?:dows)?(?:\s{1,3}(?:key|logo|button))?|⊞)(?:\s{0,3}\+\s{0,3}|\s{1,3}(?:and|plus|(?:together\s{1,3})?with)\s{1,3}(?:the\s{1,3})?(?:letter\s{1,3})?|-)["'\x60]?r\b`,
  after: /(?:\bpaste\b|\bctrl\b.{0,30}\bv\b).{0,80}\b(?:enter|return|ok)\b/,
};
/** Text that describes the trick to people who should not fall for it. */
const teaches =
  /\b(?:victims?|attackers?|adversar(?:y|ies)|phish\w{0,4}|clickfix|lures?|scams?|social engineering|fake|malicious|red flags?)\b/;
/** The name of a function that is composed, so that no search finds it. */
const composedName =
  /^\s{0,4}(?:["']\w{0,12}["']\s{0,4}(?:\+\s{0,4}["']|\[::-1\])|["']["']\.join\(|chr\(|string\.fromcharcode|atob\(|\w{0,12}\.?b64decode\()/;

export const runRules: readonly ScanRule[] = [
  ...forms("malicious", "lure.run-dialog", "tells you to paste a command that a web page put on the clipboard", [
    { ...runDialog, unless: teaches },
  ]),
  ...forms("suspicious", "lure.run-dialog", "describes how a command from the clipboard is run", [
    { ...runDialog, line: teaches },
  ]),
  ...forms("malicious", "payload.hidden-call", "hides the name of the function that it calls", [
    {
      words: ["getattr"],
      anchor: String.raw`\bgetattr\s{0,4}\(\s{0,4}(?:__import__\s{0,4}\(\s{0,4}["'](?:builtins|os|subprocess|importlib)["']\s{0,4}\)|__builtins__|builtins|os|subprocess)\s{0,4},`,
      after: composedName,
    },
    {
      words: ["echo", "printf", "base64", "rev", "xxd"],
      anchor: String.raw`\|\s{0,4}(?:sudo\s{1,4})?["']?(?:\$\(|\x60)\s{0,4}(?:echo|printf|base64|rev|xxd|tr)\s{1,4}[^\s\x60]`,
      // In a table, the bar separates cells.
      unless: /^\s{0,8}\|.*\|\s{0,8}$/,
    },
    {
      words: ["globalthis", "window", "global", "self", "process"],
      anchor: String.raw`\b(?:globalthis|window|global|self|process\.mainmodule)\s{0,4}\[`,
      after: composedName,
    },
  ]),
  ...forms(
    "malicious",
    "download.package-address",
    "installs a package from a bare address or a page that anybody can make",
    [{ ...packageByAddress, line: bareOrThrowaway }],
  ),
  ...forms(
    "malicious",
    "install.shell-pipe-ip",
    "runs what a bare address sends",
    shellPipes.map((form) => ({ ...form, line: bareAddress })),
  ),
  ...forms(
    "suspicious",
    "install.shell-pipe",
    "runs the content that a server sends at that moment",
    shellPipes.map((form) => ({ ...form, unless: bareAddress })),
  ),
  ...forms("malicious", "install.shell-pipe-throwaway", "runs what a page sends that anybody can change at any time", [
    ...shellPipes.map((form) => ({ ...form, line: throwawayLine })),
  ]),
  ...forms("malicious", "payload.base64-shell", "runs a program that is hidden in base64", [
    { words: ["base64"], anchor: pipedShell, before: decodesBase64 },
    {
      words: ["base64"],
      anchor: String.raw`\bbase64\s{1,4}(?:-\w{1,3}\s{1,4}){0,2}(?:-d|--decode)`,
      before: /\beval\b|\s-\w{0,4}c\s{1,4}["']?(?:\$\(|\x60)|(?:\b(?:bash|sh|zsh|source)|\.)\s{1,4}(?:<\(|<<<)/,
    },
    {
      words: ["b64decode"],
      anchor: String.raw`\bb64decode\b`,
      before: /(?<![.\w])(?:exec|eval|compile|os\.system)\s{0,4}\([^;{}]{0,200}$/,
    },
    {
      words: ["atob"],
      anchor: String.raw`\batob\s{0,4}\(`,
      before: /(?<![.\w])(?:(?:eval|exec|execsync)\s{0,4}\([^;{}]{0,200}|(?:new\s{1,4})?function\s{0,4}\(\s{0,4})$/,
    },
    {
      words: ["base64"],
      anchor: `["']base64["']`,
      before: /(?<![.\w])(?:eval|function|exec|execsync)\s{0,4}\(\s{0,4}buffer\.from/,
    },
    {
      words: ["powershell", "pwsh"],
      anchor: String.raw`\s[-/]e(?:n?c?|ncod\w{0,10})?\s{1,4}["']?[a-z0-9+/=]{40}`,
      before: /\b(?:powershell|pwsh)/,
    },
  ]),
  ...forms("malicious", "payload.decode-run", "decodes a hidden program and runs it", [
    {
      words: decoderWords,
      anchor: pipedShell,
      before: { test: (line: string) => !base64Decoder.test(line) && decodesSomething.test(line) },
    },
    {
      words: decoderWords,
      anchor: decodes,
      before:
        /(?<![.\w$-])(?:eval|exec|iex|invoke-expression|os\.system|os\.popen|subprocess\.\w{2,14}|child_process\.\w{2,14}|compile|execsync|execfilesync|spawnsync|instance_eval|new function|scriptblock\]::create|assembly\]::load)\s{0,4}[("'\x60$@&[{ ][^;{}]{0,200}$|\)\s{0,4}\.(?:system|popen|exec|execsync|run)\s{0,4}\([^;{}]{0,200}$|\s-\w{0,4}[ce]\s{1,4}["']?(?:\$\(|\x60)|(?:\b(?:bash|sh|zsh|source)|\.)\s{1,4}(?:<\(|<<<)/,
      unless: harmlessDecode,
    },
    {
      words: ["child_process"],
      anchor: String.raw`\bchild_process\\{0,2}["')\]]{1,4}\.\w{4,8}\s{0,4}\(\s{0,4}(?:buffer\.from|atob)`,
    },
    {
      words: ["exec", "spawn"],
      anchor: String.raw`\.(?:exec|execsync|spawn|spawnsync)\s{0,4}\(\s{0,4}(?:string\.fromcharcode|atob|buffer\.from)\s{0,4}\(`,
    },
    {
      words: ["frombase64string"],
      anchor: String.raw`\bfrombase64string\b`,
      after: /\|\s{0,4}(?:iex|invoke-expression)\b/,
    },
  ]),
  ...forms("malicious", "payload.remote-code", "runs code that a server sends, inside a program", [
    {
      words: ["fetch(", "urlopen", "requests.get", "httpx.get", "axios", "http.get"],
      anchor: String.raw`(?<![.\w])(?:eval|exec|new\s{1,4}function)\s{0,4}\(\s{0,4}(?:await\s{1,4}|\(await\s{1,4}|compile\()?\(?(?:\w{1,20}\.){0,3}(?:fetch|urlopen|requests\.get|httpx\.get|get|axios(?:\.get)?)\s{0,4}\(`,
    },
    {
      words: [".then("],
      anchor: String.raw`\.then\s{0,4}\(\s{0,4}(?:eval|execsync|exec|new\s{1,4}function|\(?\w{1,20}\)?\s{0,4}=>\s{0,4}(?:eval|exec(?:sync)?|new\s{1,4}function)\s{0,4}\()`,
      before: /\b(?:fetch|axios|got|request)\b/,
    },
    {
      words: ["end"],
      anchor: String.raw`\.on\s{0,4}\(\s{0,4}["']end["']\s{0,4},`,
      after: /^[^\n]{0,60}(?<![.\w])(?:eval|execsync|exec|new\s{1,4}function)\s{0,4}\(/,
    },
  ]),
  ...forms("malicious", "payload.system-tool", "uses a tool of the system to load a program from a stranger", [
    {
      words: ["certutil", "bitsadmin", "mshta", "regsvr32", "rundll32", "msiexec"],
      anchor: String.raw`\b(?:certutil|bitsadmin|mshta|regsvr32|rundll32|msiexec)(?:\.exe)?\s`,
      line: bareOrThrowaway,
    },
    {
      words: ["certutil", "bitsadmin", "mshta", "regsvr32", "rundll32"],
      anchor: String.raw`\b(?:certutil|bitsadmin|mshta|regsvr32|rundll32)(?:\.exe)?\s`,
      after: { test: strangeAddress },
    },
    { words: ["msiexec"], anchor: String.raw`\bmsiexec(?:\.exe)?\s`, line: { test: silentPackage } },
  ]),
  ...forms("malicious", "payload.locked-archive-run", "unpacks something that no scanner can look into, and runs it", [
    {
      words: ["7z", "unzip", "unrar"],
      anchor: String.raw`\b(?:7z\w{0,2}\s{1,4}[xe]\s[^\n;&|]{0,120}\s-p(?!infected\b)[\w!@#.]{2,40}|unzip\s{1,4}(?:-\w{1,6}\s{1,4}){0,3}-p\s{0,4}["']?(?!infected\b)[\w!@#.]{2,40}|unrar\s{1,4}[xe]\s{1,4}-p(?!infected\b)[\w!@#.]{2,40})`,
      after:
        /(?:&&|;|\|\|)\s{0,4}(?:sudo\s{1,4}|nohup\s{1,4}|cd\s{1,4}\S{1,80}\s{0,4}(?:&&|;)\s{0,4}){0,2}(?:\.{0,2}\/|start\s|open\s|(?:ba|z)?sh\s|wine\s|chmod\s)/,
    },
  ]),
  ...forms("malicious", "safety.autostart-download", "makes a downloaded program start by itself", [
    {
      words: ["curl", "wget", "invoke-webrequest", "iwr "],
      anchor: String.raw`\b(?:curl|wget|iwr|invoke-webrequest)\s`,
      after:
        /(?:\s-\w{0,6}o|--output|-outfile|>)[\s=]{0,4}["']?\S{0,120}(?:\/launch(?:agents|daemons)\/|\/(?:pre|post)-(?:commit|push|merge|checkout|receive)\b|\/autostart\/|\\startup\\|\/etc\/(?:cron\.\w{1,8}|init\.d|profile\.d)\/|\/systemd\/(?:user|system)\/)/,
    },
  ]),
  ...forms("malicious", "safety.protection-off", "switches off the protection against malware", [
    {
      words: ["mppreference", "spctl"],
      anchor: String.raw`\bset-mppreference\b[^\n;|]{0,80}-disable\w{4,40}\s{1,4}(?:\$true|1\b)|\bspctl\s{1,4}--(?:master|global)-disable`,
    },
  ]),
  ...forms("malicious", "safety.foreign-key", "lets a stranger log in to this machine", [
    {
      words: ["authorized_keys"],
      anchor: String.raw`\bauthorized_keys\b`,
      line: /\b(?:ssh-(?:rsa|ed25519|dss)|ecdsa-sha2-[\w-]{4,20})\s{1,4}aaaa[\w+/=]{36}/,
    },
  ]),
  ...forms(
    "malicious",
    "install.download-run-address",
    "downloads a program from a bare address or a throwaway page and runs it",
    [downloadedProgram, downloadedArchive].map((form) => ({ ...form, line: bareOrThrowaway })),
  ),
  ...forms(
    "suspicious",
    "install.download-run",
    "downloads a program and runs it",
    [downloadedProgram, downloadedArchive].map((form) => ({ ...form, unless: bareOrThrowaway })),
  ),
  ...forms("malicious", "payload.reverse-shell", "gives a stranger a shell on this machine", [
    {
      words: ["/dev/tcp", "/dev/udp"],
      anchor: String.raw`/dev/(?:tcp|udp)/[\w.$<\{-]{1,100}[>}]?/[\w$<\{]`,
      // A port check opens no shell.
      line: /sh\s{1,4}-\w{0,3}i\b|0>&\s?1|0<&|>&\s{0,4}\/dev\/(?:tcp|udp)|\d<>\s{0,4}\/dev.{0,200}(?:while|exec|sh\b)|\d>&1.{0,20}0>/,
    },
    {
      words: ["nc ", "ncat", "netcat"],
      anchor: String.raw`\b(?:nc|ncat|netcat)\s`,
      after:
        /\s-\w{0,4}[ec]\s{1,4}\S{0,40}(?:bash|sh|cmd)|^(?:-\w{1,6}\s{1,4}){0,3}-\w{0,4}[ec]\s{1,4}\S{0,40}(?:sh|cmd(?:\.exe)?)["']?\s{1,4}[\w.$<{-]{2,80}\s{1,4}[\d$<{p]/,
    },
    {
      words: ["socat"],
      anchor: String.raw`\bsocat\s`,
      after: /\bexec:["'\\]{0,2}(?:\/(?:usr\/)?bin\/)?(?:ba|z|da)?sh\b|\bexec:["']?(?:cmd|powershell)/,
    },
    {
      words: ["socket"],
      anchor: String.raw`\bsocket\.socket\b|\bnew\s{1,4}net\.socket\b|\bnet\.connect\b|\btcpsocket\b|\btcpclient\(`,
      after:
        /\b(?:dup2|pty\.spawn|subprocess\.(?:call|popen|run)\s{0,4}\(\s{0,4}\[?["'](?:\/bin\/)?(?:ba)?sh|spawn\(["'](?:\/bin\/)?(?:ba)?sh|exec ["'](?:\/bin\/)?(?:ba)?sh|iex\b)/,
    },
    { words: ["dup2"], anchor: String.raw`\bos\.dup2\s{0,4}\(\s{0,4}\w{1,20}\.fileno\(\)\s{0,4},` },
    // Reads lines from a connection and runs each.
    {
      words: ["read"],
      anchor: String.raw`\bwhile\s{1,4}(?:ifs=\S{0,4}\s{1,4})?read\b[^\n;]{0,60}`,
      after:
        /^[^\n]{0,20};?\s{0,4}do\s{1,4}(?:eval\s{1,4}|(?:ba|z)?sh\s{1,4}-c\s{1,4})?["']?\$\{?\w{1,30}\}?["']?\s[^\n]{0,20}>&\s?\d/,
    },
    { words: ["mkfifo"], anchor: String.raw`\bmkfifo\s`, after: /\|\s{0,4}(?:nc|ncat|netcat|telnet)\b/ },
  ]),
  ...forms("malicious", "payload.crypto-mining", "mines cryptocurrency", [
    {
      words: ["stratum+", "xmrig", "minerd"],
      anchor: String.raw`(?:\bxmrig|\bminerd|\bcpuminer)\S{0,20}\s[^\n]{0,80}(?:-o\s|--url|-u\s)|(?:-o|--url|pool|["'=:])\s{0,4}["']?stratum\+(?:tcp|ssl)://[\w-]{1,60}[.:]`,
    },
  ]),
  ...forms("suspicious", "payload.mentions-mining", "names a program that mines cryptocurrency", [
    { words: ["stratum+", "xmrig"], anchor: String.raw`\bstratum\+(?:tcp|ssl)://|\bxmrig\b` },
  ]),
];
