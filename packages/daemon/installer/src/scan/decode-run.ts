/**
 * Traces decoded or downloaded content to the place where it is executed, through a variable or a file. It matches
 * names only, without semantics, so one pass over the text is enough.
 */
import type { FindingSeverity } from "@aegis/contract/skill-install.ts";
import { decodes } from "./decoders.ts";
import { hostKind } from "./hosts.ts";
import { secretFile } from "./secret-files.ts";
import { matchInParts } from "./text-search.ts";
import { isFurtive } from "./weigh.ts";

export type DecodedRun = { severity: FindingSeverity; rule: string; message: string; index: number; length: number };

type Origin = "decoded" | "downloaded";

/** `calls` means a function that returns the content. */
type Source = { origin: Origin; at: number; line: string; calls: boolean };
type Written = { origin: Origin; at: number; line: string };

const downloads = String.raw`(?:\$\(\s{0,4}(?:curl|wget)\s|\x60(?:curl|wget)\s|\brequests\.get\(|\burlopen\(|\bhttpx\.get\(|\bfetch\(|\baxios(?:\.get)?\(|\buri\.open\(|\bdownloadstring\b|\binvoke-(?:webrequest|restmethod)\b|\b(?:irm|iwr)\s)`;

/** Programs are often distributed compressed, which hides nothing. */
const unpacks = /^(?:gunzip|zcat|gzip|bunzip2|xz)\b/;
const sourcePattern = new RegExp(`${decodes}|${downloads}`, "g");
const decodesPattern = new RegExp(`^${decodes}`);

/** Patterns that execute their argument as a program. */
const sinkPattern =
  /(?<![.\w$-])(?:eval|exec|execsync|execfilesync|iex|invoke-expression|source|run_in_context|instance_eval|assert)(?=[\s("'\x60$]|\)\s{0,2}\()|[\n;&][ \t]{0,8}["']?(?=\$\{?[a-z_]\w{0,60}\}?["']?[ \t]{0,4}(?:[\n;&(]|\d?>|$))|\bnew function\s{0,4}\(|\b(?:os\.system|os\.popen|subprocess\.\w{2,14}|child_process\.\w{2,14}|vm\.\w{3,20}|runpy\.\w{3,12}|scriptblock\]::create|assembly\]::load)\s{0,4}\(|(?:^|[\s;&|(\x60"'/])(?:ba|z|da|k|a)?sh\s{1,4}(?:-\w{1,6}\s{1,4}){0,2}(?=["'$<])|\|\s{0,4}(?:sudo\s{1,4})?(?:ba|z|da|k)?sh\b|\b(?:python[23]?|perl|ruby|node|pwsh|powershell)\s{1,4}-\w{1,8}\s{1,4}(?=["'$])/g;

const secretFilePattern = new RegExp(String.raw`${secretFile}|\$\(\s{0,4}(?:env|printenv)\b`, "g");
const sendPattern =
  /\bfetch\s{0,4}\(|\baxios(?:\.\w{3,6})?\s{0,4}\(|\brequests\.(?:post|put)\s{0,4}\(|\bhttpx\.(?:post|put)\s{0,4}\(|\burlopen\s{0,4}\(|\burllib\.request\.request\s{0,4}\(|\bcurl\s|\bwget\s|\binvoke-(?:webrequest|restmethod)\b/g;

const nameBefore =
  /(?:^|[\s;&|(,{])(?:export\s{1,4}|local\s{1,4}|declare\s{1,4}|readonly\s{1,4}|const\s{1,4}|let\s{1,4}|var\s{1,4}|set\s{1,4}|my\s{1,4})?[$@]?([a-z_]\w{0,60})\s{0,4}(?::\s{0,2}\w{1,20}\s{0,4})?:?=(?!=)\s{0,4}/g;
const named = /[$@{("'\s,[]([a-z_]\w{0,60})/g;
/** Gives the same content another name. */
const renamed =
  /(?:^|[\s;&|(,{])(?:const\s{1,4}|let\s{1,4}|var\s{1,4}|my\s{1,4})?[$@]?([a-z_]\w{0,60})\s{0,4}=(?!=)\s{0,4}["']?(?:await\s{1,4})?(?:(?:\w{1,20}\.){0,2}(?:compile|str|bytes|bytearray|decode\w{0,20}|decompress|from|unescape|\w{0,10}b64decode)\s{0,2}\(\s{0,2})?\$?\{?([a-z_]\w{0,60})(?=[)}"'\s,;]|\.(?:text|content|body|read|decode|strip|trim|tostring)\b|$)/g;
/** A function whose body contains the position. */
const functionBefore =
  /\b(?:def|function)\s{1,4}([a-z_]\w{0,60})\s{0,4}\([^)]{0,120}\)[^\0]{0,200}?\breturn\b[^\n]{0,120}$/;
/** Where a download is stored. */
const stored =
  /\b(?:curl|wget|certutil|iwr|invoke-webrequest|bitsadmin)\b[^\n;&|]{0,240}?\s(?:-\w{0,6}o|--output|-outfile|--output-document)[\s=]{1,4}["']?([\w./~{}$%\\:-]{2,120})|\b(?:wget\s{1,4}(?:-{1,2}(?:q|quiet|nc|n|c|no-check-certificate)\s{1,4}){0,3}|curl\s{1,4}(?:-{1,2}\S{1,20}\s{1,4}){0,3}-\w{0,8}o\s{1,4})["']?https?:\/\/[^\s"';&|]{3,300}\/([\w.-]{2,120})(?=["'\s;&|]|$)|\bcertutil\b[^\n;&|]{0,60}-urlcache[^\n;&|]{0,60}https?:\/\/[^\s;&|]{3,200}\s{1,4}["']?([\w./~{}$%\\:-]{2,120})/g;
/** Opened by a viewer. */
const document = /\.(?:png|jpe?g|gif|svg|webp|pdf|html?|txt|md|csv|json|ya?ml|xml|xlsx?|docx?|pptx?|mp[34]|wav|mov)$/;
/** What was compared with a known value or signature is not run blindly. */
const verifies =
  /\b(?:sha(?:256|512|1)sum|shasum|gpg\s{1,4}--verify|cosign|minisign|codesign\s{1,4}-\w{0,3}v|get-filehash)\b/;
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
        String.raw`(?:body|data|json|text|content|payload|files|-d|--data\S{0,8}|--post-data)\b[^;\n]{0,80}?[$({\s"',:=]${name}(?![\w.\[(])|https?://[^\s"']{3,200}[?&]\w{1,20}=\$?\{?${name}\b`,
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
  const names = new Map<string, Source>();
  const files = new Map<string, Written>();
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
    const line = `${before}${found.match}${after}`;
    const calls = /\blambda\b|=>/.test(before);
    for (const { 1: name = "" } of before.matchAll(nameBefore))
      names.set(name, { origin, at: found.index, line, calls });
    const [, outer] = functionBefore.exec(text.slice(Math.max(0, found.index - 360), found.index)) ?? [];
    if (outer !== undefined) names.set(outer, { origin, at: found.index, line, calls: true });
    const hides = origin === "decoded" && !unpacks.test(found.match);
    const file = hides ? fileAfter.exec(after)?.[1] : undefined;
    if (file !== undefined && !file.startsWith("/dev/") && !/\.env\b/.test(file))
      files.set(baseName(file), { origin, at: found.index, line });
  }
  yield* findStored(text, files);
  if (names.size > 0) yield* findRenamed(text, names);
  if (names.size > 0) yield* runsOfNames(text, names);
  if (files.size > 0) yield* runsOfFiles(text, files);
}

function* findStored(text: string, files: Map<string, Written>): Generator<undefined> {
  for (const found of matchInParts(text, stored)) {
    yield undefined;
    if (found === undefined || files.size > mostNames) continue;
    const name = baseName(/([\w./~{}$%\\:-]{2,120})$/.exec(found.match)?.[1] ?? "");
    const { before, after } = lineAround(text, found.index, found.match.length);
    if (name !== "" && !files.has(name))
      files.set(name, { origin: "downloaded", at: found.index, line: `${before}${found.match}${after}` });
  }
}

function* findRenamed(text: string, names: Map<string, Source>): Generator<undefined> {
  for (const found of matchInParts(text, renamed)) {
    yield undefined;
    if (found === undefined || names.size > mostNames) continue;
    renamed.lastIndex = 0;
    const [, name = "", from = ""] = renamed.exec(found.match) ?? [];
    renamed.lastIndex = 0;
    const source = names.get(from);
    if (name !== "" && source !== undefined && source.at < found.index && !names.has(name))
      names.set(name, { ...source, at: found.index });
  }
}

function* runsOfNames(text: string, names: ReadonlyMap<string, Source>): Generator<DecodedRun | undefined> {
  for (const sink of matchInParts(text, sinkPattern)) {
    yield undefined;
    if (sink === undefined) continue;
    const { before, after } = lineAround(text, sink.index, sink.match.length);
    // Content piped into a shell precedes it.
    const argument = sink.match.startsWith("|") ? before.slice(-120) : after.slice(0, 120);
    for (const { 1: name = "" } of ` ${argument}`.matchAll(named)) {
      const source = names.get(name);
      if (source === undefined || source.at > sink.index) continue;
      if (!isUse(argument, name, sink.match.startsWith("|"), source.calls)) continue;
      yield runOf(source, sink, argument);
      break;
    }
  }
}

function runOf(source: Source, sink: { index: number; match: string }, argument: string): DecodedRun {
  if (source.origin === "decoded")
    return decodedRun(
      "malicious",
      "payload.decode-run",
      "decodes a hidden program and runs it",
      sink.index,
      sink.match,
    );
  // A program that downloads code and runs it is not an installer: the scan has not seen that code.
  const inProgram = /^(?:exec|eval|execsync|os\.|subprocess|child_process|vm\.|new function)/.test(sink.match);
  if (inProgram && /^\s{0,2}\(/.test(argument) && addressOf(source.line) === "strange")
    return decodedRun(
      "malicious",
      "payload.remote-code",
      "runs code that a server sends, inside a program",
      sink.index,
      sink.match,
    );
  const severity = isFurtive(source.line) ? "malicious" : "suspicious";
  return decodedRun(
    severity,
    "install.shell-pipe",
    "runs the content that a server sends at that moment",
    sink.index,
    sink.match,
  );
}

function addressOf(line: string): "strange" | "other" {
  const [url] = /https?:\/\/[^\s"'\x60)>|]{3,300}/.exec(line) ?? [];
  return url !== undefined && /^(?:other|throwaway)$/.test(hostKind(url)) ? "strange" : "other";
}

/** A file that was written by a decoder or a download and is then executed or made executable. */
function* runsOfFiles(text: string, files: ReadonlyMap<string, Written>): Generator<DecodedRun | undefined> {
  const starts =
    /(?:\bchmod\s{1,4}(?:-\w\s{1,4})?(?:[ugoa]{0,3}\+\w{0,2}x\w{0,2}|0?(?:[1357][0-7]{2}|[0-7][1357][0-7]|[0-7]{2}[1357]))\s{1,4}|(?:^|[\s;&|(])(?:(?:ba|z|da)?sh|source|\.|python[23]?|perl|node|open|start(?:\s{1,4}\/b)?|start-process|nohup|exec)\s{1,4}|(?:^|[\n;&|(\x60])[ \t]{0,8}(?:sudo\s{1,4})?(?!(?:(?:ba|z|da)?sh|source|python[23]?|perl|node|open|start|start-process|nohup|exec|chmod)\s)(?=["']?[.~$%]?[\w/\\%]))["']?([\w./~{}$%\\:-]{2,120})/g;
  for (const start of matchInParts(text, starts)) {
    yield undefined;
    if (start === undefined) continue;
    const name = baseName(/([\w./~{}$%\\:-]{2,120})$/.exec(start.match)?.[1] ?? "");
    const written = files.get(name);
    if (written === undefined || start.index <= written.at || start.index - written.at > near) continue;
    // Skip the place where the file is written.
    if (/>\s{0,4}["']?$/.test(text.slice(Math.max(0, start.index - 4), start.index + 1))) continue;
    yield runOfFile(text, written, start);
  }
}

function runOfFile(text: string, written: Written, start: { index: number; match: string }): DecodedRun | undefined {
  const { index, match } = start;
  if (/\b(?:open|start)\s/.test(match) && document.test(match)) return undefined;
  if (written.origin === "decoded")
    return decodedRun("malicious", "payload.decode-run", "decodes a hidden program and runs it", index, match);
  // Making a download executable is how most programs are installed.
  if (match.includes("chmod") || verifies.test(text.slice(written.at, index))) return undefined;
  const { before, after } = lineAround(text, index, match.length);
  const severity = isFurtive(`${written.line}\n${before}${match}${after}`) ? "malicious" : "suspicious";
  return decodedRun(severity, "install.download-run", "downloads a program and runs it", index, match);
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
function isUse(argument: string, name: string, piped: boolean, calls: boolean): boolean {
  const word = String.raw`(?:await\s{1,4})?[$@]?\{?${name}(?![\w${calls ? "" : "("}=])`;
  const place = piped
    ? String.raw`[\s"'$({]${word}`
    : String.raw`^[\s()"'\x60<$]{0,10}(?:\[?\s{0,2}["'](?:/bin/)?(?:ba|z|da)?sh["'],\s{0,4}["']-c["'],\s{0,4})?(?:(?:compile|str|string|decodeuricomponent|unescape|atob)\s{0,2}\(\s{0,2})?["']?${word}`;
  return new RegExp(place).test(argument);
}

function tooMany(index: number): DecodedRun {
  return decodedRun("suspicious", "unread.too-many", "has too many values of this kind to follow them all", index, "");
}

function baseName(path: string): string {
  return path.slice(Math.max(path.lastIndexOf("/"), path.lastIndexOf("\\")) + 1);
}

function lineAround(text: string, index: number, length: number): { before: string; after: string } {
  const before = text.slice(Math.max(0, index - lineReach), index);
  const after = text.slice(index + length, index + length + lineReach);
  const end = after.indexOf("\n");
  return { before: before.slice(before.lastIndexOf("\n") + 1), after: end === -1 ? after : after.slice(0, end) };
}
