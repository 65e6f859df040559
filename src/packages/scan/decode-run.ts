/**
 * Traces decoded or downloaded content to the place where it is executed, through a variable or a file. It matches
 * names only, without semantics, so one pass over the text is enough.
 */
import type { FindingSeverity } from "../../contract/skill-install.ts";
import { secretFile } from "./secret-files.ts";
import { matchInParts } from "./text-search.ts";

export type DecodedRun = { severity: FindingSeverity; rule: string; message: string; index: number; length: number };

type Origin = "decoded" | "downloaded";

/** Patterns that decode unreadable content. */
export const decodes = String.raw`(?:\b(?:g?base64|base32)\s{1,4}(?:-{1,2}[\w=]{1,12}\s{1,4}){0,3}(?:-d\b|-di\b|-id\b|--d(?:ecode)?\b)|\bopenssl\s{1,4}(?:enc\b|base64\b|aes)[^|;\n]{0,120}\s-d\b|\bxxd\s{1,4}(?:-\w{1,3}\s{1,4}){0,2}-(?:r|p\s{0,3}-r|rp|r\s{0,3}-p)|\b(?:gunzip|zcat|gzip\s{1,4}-\w{0,3}d|bunzip2|xz\s{1,4}-\w{0,3}d)\b|\btr\s{1,4}["']?(?:a-za-z|\[a-z\]|a-z|a-m)\S{0,24}\s{1,4}["']?(?:n-za-m|\[n-z|n-z|b-za)\S{0,24}|\b(?:urlsafe_|standard_)?b(?:64|32|16)decode\b|\bdecode_base64\b|\bbase64\.(?:strict_|urlsafe_)?decode64\b|\bbase64_decode\b|\ba2b_(?:base64|hex)\b|\bunhexlify\b|\bbytes\.fromhex\b|\bcodecs\.decode\b|\b(?:zlib|gzip|lzma|bz2)\.decompress\b|\bmarshal\.loads\b|\batob\s{0,4}\(|\bbuffer\.from\s{0,4}\([^()\n]{0,200},\s{0,4}["'](?:base64|hex)["']|\bfrombase64string\b|\bstring\.fromcharcode\b|\bcertutil\b[^\n]{0,60}-decode\b|\bprintf\s{1,4}["']?(?:\\+x[0-9a-f]{2}|\\+[0-7]{3}){4}|\becho\s{1,4}-\w{0,3}e\w{0,3}\s{1,4}["']?(?:\\+x[0-9a-f]{2}|\\+[0-7]{3}){4}|\$'(?:\\+x[0-9a-f]{2}){4})`;
const downloads = String.raw`(?:\$\(\s{0,4}(?:curl|wget)\s|\x60(?:curl|wget)\s|\brequests\.get\(|\burlopen\(|\bdownloadstring\b|\binvoke-(?:webrequest|restmethod)\b|\b(?:irm|iwr)\s)`;

/** Programs are often distributed compressed, which hides nothing. */
const unpacks = /^(?:gunzip|zcat|gzip|bunzip2|xz)\b/;
const sourcePattern = new RegExp(`${decodes}|${downloads}`, "g");
const decodesPattern = new RegExp(`^${decodes}`);

/** Patterns that execute their argument as a program. */
const sinkPattern =
  /(?<![.\w$-])(?:eval|exec|execsync|execfilesync|iex|invoke-expression|source|run_in_context|instance_eval|assert)(?=[\s("'\x60$]|\)\s{0,2}\()|[\n;&][ \t]{0,8}["']?(?=\$\{?[a-z_]\w{0,60}\}?["']?[ \t]{0,4}(?:[\n;&]|$))|\bnew function\s{0,4}\(|\b(?:os\.system|os\.popen|subprocess\.\w{2,14}|child_process\.\w{2,14}|vm\.\w{3,20}|runpy\.\w{3,12}|scriptblock\]::create|assembly\]::load)\s{0,4}\(|(?:^|[\s;&|(\x60"'/])(?:ba|z|da|k|a)?sh\s{1,4}(?:-\w{1,6}\s{1,4}){0,2}(?=["'$<])|\|\s{0,4}(?:sudo\s{1,4})?(?:ba|z|da|k)?sh\b|\b(?:python[23]?|perl|ruby|node|pwsh|powershell)\s{1,4}-\w{1,8}\s{1,4}(?=["'$])/g;

const secretFilePattern = new RegExp(secretFile, "g");
const sendPattern =
  /\bfetch\s{0,4}\(|\baxios(?:\.\w{3,6})?\s{0,4}\(|\brequests\.(?:post|put)\s{0,4}\(|\bhttpx\.(?:post|put)\s{0,4}\(|\burlopen\s{0,4}\(|\burllib\.request\.request\s{0,4}\(|\bcurl\s|\bwget\s|\binvoke-(?:webrequest|restmethod)\b/g;

const nameBefore =
  /(?:^|[\s;&|(,{])(?:export\s{1,4}|local\s{1,4}|declare\s{1,4}|readonly\s{1,4}|const\s{1,4}|let\s{1,4}|var\s{1,4}|set\s{1,4}|my\s{1,4})?[$@]?([a-z_]\w{0,60})\s{0,4}(?::\s{0,2}\w{1,20}\s{0,4})?:?=(?!=)\s{0,4}/g;
const named = /[$@{("'\s,[]([a-z_]\w{0,60})/g;
const fileAfter = />\s{0,4}["']?([\w./~{}$-]{2,120})/;
/** More than any legitimate file has. If there are more, the result says that they were not traced. */
const mostNames = 5_000;
const lineReach = 240;
const near = 4_000;

/** Key files that are read into a variable which is then sent as a whole. Yields like `findDecodedRuns`. */
export function* findSentSecrets(text: string): Generator<DecodedRun | undefined> {
  const names = new Map<string, number>();
  for (const found of matchInParts(text, secretFilePattern)) {
    yield undefined;
    if (found === undefined) continue;
    if (names.size > mostNames) {
      yield tooMany(found.index);
      break;
    }
    const { before } = lineAround(text, found.index, found.match.length);
    for (const { 1: name = "" } of before.matchAll(nameBefore)) names.set(name, found.index);
  }
  if (names.size === 0) return;
  for (const send of matchInParts(text, sendPattern)) {
    yield undefined;
    if (send === undefined) continue;
    const argument = text.slice(send.index, send.index + lineReach);
    for (const { 1: name = "" } of argument.matchAll(named)) {
      const read = names.get(name);
      if (read === undefined || read > send.index) continue;
      // Programs commonly read one key from a settings file, but not the whole file.
      const whole = new RegExp(
        String.raw`(?:body|data|json|text|content|payload|files|-d|--data\S{0,8}|--post-data)\b[^;\n]{0,80}?[$({\s"',:=]${name}(?![\w.\[(])`,
      );
      if (!whole.test(argument)) continue;
      const message = "sends a file that holds keys or passwords away";
      yield decodedRun("malicious", "exfiltration.credentials", message, send.index, send.match);
      break;
    }
  }
}

/** Yields undefined where it may be interrupted. The text is folded. */
export function* findDecodedRuns(text: string): Generator<DecodedRun | undefined> {
  const names = new Map<string, { origin: Origin; at: number }>();
  const files = new Map<string, number>();
  for (const found of matchInParts(text, sourcePattern)) {
    yield undefined;
    if (found === undefined) continue;
    if (names.size + files.size > mostNames) {
      yield tooMany(found.index);
      break;
    }
    const origin: Origin = decodesPattern.test(found.match) ? "decoded" : "downloaded";
    const { before, after } = lineAround(text, found.index, found.match.length);
    // Decoded text may itself look like an assignment, so every name on the line counts.
    for (const { 1: name = "" } of before.matchAll(nameBefore)) names.set(name, { origin, at: found.index });
    const hides = origin === "decoded" && !unpacks.test(found.match);
    const file = hides ? fileAfter.exec(after)?.[1] : undefined;
    if (file !== undefined && !file.startsWith("/dev/") && !/\.env\b/.test(file))
      files.set(baseName(file), found.index);
  }
  if (names.size > 0) yield* runsOfNames(text, names);
  if (files.size > 0) yield* runsOfFiles(text, files);
}

function* runsOfNames(
  text: string,
  names: Map<string, { origin: Origin; at: number }>,
): Generator<DecodedRun | undefined> {
  for (const sink of matchInParts(text, sinkPattern)) {
    yield undefined;
    if (sink === undefined) continue;
    const { before, after } = lineAround(text, sink.index, sink.match.length);
    // Content piped into a shell precedes it.
    const argument = sink.match.startsWith("|") ? before.slice(-120) : after.slice(0, 120);
    for (const { 1: name = "" } of ` ${argument}`.matchAll(named)) {
      const source = names.get(name);
      if (source === undefined || source.at > sink.index || !isUse(argument, name, sink.match.startsWith("|")))
        continue;
      yield source.origin === "decoded"
        ? decodedRun("malicious", "payload.decode-run", "decodes a hidden program and runs it", sink.index, sink.match)
        : decodedRun(
            "suspicious",
            "install.shell-pipe",
            "runs the content that a server sends at that moment",
            sink.index,
            sink.match,
          );
      break;
    }
  }
}

/** A file that was written by a decoder and is then executed or made executable. */
function* runsOfFiles(text: string, files: ReadonlyMap<string, number>): Generator<DecodedRun | undefined> {
  const starts =
    /(?:\bchmod\s{1,4}(?:-\w\s{1,4})?(?:[ugoa]{0,3}\+\w{0,2}x\w{0,2}|0?(?:[1357][0-7]{2}|[0-7][1357][0-7]|[0-7]{2}[1357]))\s{1,4}|(?:^|[\s;&|(])(?:(?:ba|z|da)?sh|source|\.|python[23]?|perl|node|open|start)\s{1,4}|(?:^|[\s;&|(])(?=[.~]?\/))["']?([\w./~{}$-]{2,120})/g;
  for (const start of matchInParts(text, starts)) {
    yield undefined;
    if (start === undefined) continue;
    const name = baseName(/([\w./~{}$-]{2,120})$/.exec(start.match)?.[1] ?? "");
    const written = files.get(name);
    if (written === undefined || start.index <= written || start.index - written > near) continue;
    // Skip the place where the file is written.
    if (/>\s{0,4}["']?$/.test(text.slice(Math.max(0, start.index - 4), start.index + 1))) continue;
    yield decodedRun(
      "malicious",
      "payload.decode-run",
      "decodes a hidden program and runs it",
      start.index,
      start.match,
    );
  }
}

function decodedRun(
  severity: FindingSeverity,
  rule: string,
  message: string,
  index: number,
  match: string,
): DecodedRun {
  return { severity, rule, message, index, length: match.length };
}

/** The executed program comes first or after a shell and its `-c`; other positions are only arguments. */
function isUse(argument: string, name: string, piped: boolean): boolean {
  const word = String.raw`[$@]?\{?${name}(?![\w(=])`;
  const place = piped
    ? String.raw`[\s"'$({]${word}`
    : String.raw`^[\s()"'\x60<]{0,6}(?:\[?\s{0,2}["'](?:/bin/)?(?:ba|z|da)?sh["'],\s{0,4}["']-c["'],\s{0,4})?(?:(?:compile|str|string|decodeuricomponent|unescape|atob)\s{0,2}\(\s{0,2})?["']?${word}`;
  return new RegExp(place).test(argument);
}

function tooMany(index: number): DecodedRun {
  return decodedRun("suspicious", "unread.too-many", "has too many values of this kind to follow them all", index, "");
}

function baseName(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

function lineAround(text: string, index: number, length: number): { before: string; after: string } {
  const before = text.slice(Math.max(0, index - lineReach), index);
  const after = text.slice(index + length, index + length + lineReach);
  const end = after.indexOf("\n");
  return { before: before.slice(before.lastIndexOf("\n") + 1), after: end === -1 ? after : after.slice(0, end) };
}
