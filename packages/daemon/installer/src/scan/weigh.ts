/**
 * Adjusts severities by context. A template looks like an attack, but its user fills in the address or the text; a
 * download looks harmless if its bare address is in a variable.
 */
import type { FindingSeverity } from "@aegis/contract/skill-install.ts";
import { decodes } from "./decoders.ts";
import { hasUnusualName, hostKind } from "./hosts.ts";

/** A placeholder address: `{lhost}`, `<IP>`, `ATTACKER_IP`. A shell's own `$HOST` may be set by the skill. */
const placeholderAddress =
  /\/dev\/(?:tcp|udp)\/(?:\{\w{1,40}\}|<[\w ]{1,40}>|\$\{[\w.]{1,40}\}|\b(?:attacker|your|lhost|rhost|target|ip|host)[\w.-]{0,30})\/|\b(?:nc|ncat|netcat|tcp:)\s{0,2}[^|;\n]{0,40}(?:\{\w{1,40}\}|<[\w ]{1,40}>|\b(?:attacker|your_|lhost|rhost)\w{0,30})/;
const runsItself =
  /\b(?:os\.system|os\.popen|subprocess\.\w{2,14}|exec(?:sync|file)?|spawn(?:sync)?|eval|shell_exec|passthru|system)\s{0,4}\(/;
const quotedString = /["'\x60]/;
/** The decoded content comes from a variable, not from the file itself. */
const variablePayload =
  /(?:\b(?:echo|printf)\s{1,4}(?:-\w{1,3}\s{1,4}|%s\s{1,4}|["']%s["']\s{1,4})?["']?|<<<\s{0,4}["']?)(?:\$\{\w{1,60}\}|\$\([^)]{1,60}\)|\{\w{1,60}\}|\$\w{1,60}|<[\w -]{1,40}>)/;
const encodes =
  /\bb64encode\b|\bbtoa\s{0,2}\(|\.tostring\(\s{0,2}["']base64["']|\btobase64string\b|\bbase64\s{1,4}(?:-w\s{0,2}0|-i\b|<)|\|\s{0,4}base64\b(?!\s{1,4}(?:-d|--d))/;

/** The resulting severity. `line` and `text` are folded. In a page, only addresses hidden in variables count. */
export function weighed(
  { rule, severity }: { rule: string; severity: FindingSeverity },
  line: string,
  inPage: boolean,
  text: () => string,
): FindingSeverity {
  if (rule === "install.download-run" || rule === "install.shell-pipe")
    return isFurtive(inPage ? commandsOn(line) : line) || hidesAddress(line, text()) ? "malicious" : severity;
  if (severity !== "malicious" || inPage) return severity;
  if (
    rule === "payload.reverse-shell" &&
    placeholderAddress.test(line) &&
    quotedString.test(line) &&
    !runsItself.test(line)
  )
    return "suspicious";
  // Text that the same file encodes is decoded at the other end of a connection, which hides nothing.
  if (rule === "payload.base64-shell" && variablePayload.test(line) && encodes.test(text())) return "suspicious";
  return severity;
}

/** The code on a line of prose that downloads something. Other addresses on the line are not part of it. */
function commandsOn(line: string): string {
  const spans = [...line.matchAll(/\x60([^\x60]{4,500})\x60/g)].map(({ 1: code = "" }) => code);
  const downloads = spans.filter((code) => /\b(?:curl|wget|irm|iwr|invoke-\w{3,12})\b/.test(code));
  return downloads.length === 0 ? line : downloads.join("\n");
}

/** What an honest installer does not do: no TLS, in the background, from a schedule, from a hidden file. */
const furtive =
  /\bscriptblock\]::create\b|\bassembly\]::load\b|\bosascript\b|\bdo shell script\b|\badministrator privileges\b|\bnohup\b|\bstart\s{1,4}\/b\b|\bxattr\s{1,4}-\w{0,3}c|\/tmp\/\.\w|\/dev\/shm\/|\blaunchagents?\/\.|\s-w(?:indowstyle)?\s{1,4}hidden\b|(?:^|[\s"'])(?:[*\d][\d*/,-]{0,8}\s{1,2}){5}(?=\S)|@(?:reboot|hourly|daily)\s|(?<![&>|])&\s{0,4}(?:["'\x60)]|$)/;
/** The download is not checked to come from its host, so the name of a known host says nothing. */
const unchecked =
  /\bcurl\s[^|;]{0,80}\s(?:-\w{0,8}k\w{0,4}|--insecure)\s|\bcurl\s{1,4}-\w{0,8}k\w{0,4}\s|\bwget\s[^|;]{0,80}--no-check-certificate/;
const addresses =
  /(https?:\/\/[^\s"'\x60)>|]{3,300})|(?:\b(?:curl|wget|irm|iwr|invoke-webrequest|invoke-restmethod)|\$\{?\w{1,40}\}?["']?)\s{1,4}(?:-\S{1,20}\s{1,4}){0,4}["']?((?:[a-z0-9-]{1,40}\.){1,3}[a-z]{2,12}(?=[/\s"'|]))/g;

/** Whether a download that is run is hidden from the person, or comes from a name that costs nothing. */
export function isFurtive(line: string): boolean {
  const remote = [...line.slice(0, 2_000).matchAll(addresses)]
    .map(({ 1: url, 2: name }) => url ?? name ?? "")
    .filter((url) => hostKind(url) !== "local");
  if (remote.length > 0 && unchecked.test(line)) return true;
  const strange = remote.filter((url) => hostKind(url) !== "known");
  if (strange.length === 0) return false;
  return strange.some((url) => hasUnusualName(url) || isPlain(url)) || furtive.test(line);
}

/** Anyone on the way can replace what a server sends without TLS. */
function isPlain(url: string): boolean {
  return (
    url.startsWith("http://") &&
    !/^http:\/\/[^/]{0,200}\.(?:example|test|invalid|example\.(?:com|org|net))(?:[/:]|$)/.test(url)
  );
}

/** Whether a variable on the line contains a bare address or that of a throwaway page, or an address that is decoded. */
function hidesAddress(line: string, text: string): boolean {
  if ([...line.matchAll(downloadedVariable)].slice(0, 8).some(({ groups }) => isDecoded(groups?.name ?? "", text)))
    return true;
  const names = [...line.matchAll(/\$\{?(\w{1,40})/g)].slice(0, 8).map(({ 1: name = "" }) => name);
  return names.some((name) => {
    const [, url] = new RegExp(String.raw`(?:^|[\s;])${name}=["']?(https?://[^\s"';]{3,200})`).exec(text) ?? [];
    return url !== undefined && hostKind(url) === "throwaway";
  });
}

/** The whole argument of a download, and not a part of a header. */
const downloadedVariable =
  /\b(?:curl|wget|irm|iwr)\s[^|;\n]{0,160}?(?<=\s)(?<quote>["']?)\$\{?(?<name>\w{1,40})\}?\k<quote>(?=[\s)|;&]|$)/g;

function isDecoded(name: string, text: string): boolean {
  return new RegExp(String.raw`(?:^|[\s;&])${name}=["']?(?:\$\(|\x60)[^\n]{0,240}?${decodes}`).test(text);
}
