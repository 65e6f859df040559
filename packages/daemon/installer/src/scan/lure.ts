/**
 * Recognizes lures independently of the host: a page with commands to run, a locked archive with content to start, a
 * program to download before the skill works. No single word decides. Each lure has a required core and a score for
 * pressure on the reader; known projects reduce the score.
 */
import type { FindingSeverity } from "@aegis/contract/skill-install.ts";
import { type HostKind, hostKind, isCheap, isPaste, isTunnel } from "./hosts.ts";
import { Hits } from "./lure-hits.ts";
import { byPrerequisite, byUnlocking, elsewhere, sectionAround } from "./lure-signals.ts";
import { toldPassword } from "./lure-words.ts";
import { matchInParts } from "./text-search.ts";

export type Lure = { severity: FindingSeverity; rule: string; message: string; index: number; length: number };

const malicious = 4;

const link =
  /https?:\/\/[^\s)>"'`|\]\\]{3,500}|\]\[[^\]\n]{1,40}\]|(?<![\w./@-])(?:[a-z0-9-]{1,40}\.){1,3}[a-z]{2,6}\/[\w./~-]{2,200}/g;
const program =
  /\.(?:zip|rar|7z|exe|msi|dmg|pkg|iso|scr|bat|cmd|apk|appimage|jar|tgz|tar\.gz)(?:[?#]|$)|\/releases\/(?:latest\/)?download\//;

const definition = /(?:^|\n)[ \t]{0,3}\[([^\]\n]{1,40})\]:[ \t]{0,4}<?(https?:\/\/[^\s>]{3,500})/g;

type Link = { at: number; end: number; url: string; host: HostKind };

/** Yields undefined where it may be interrupted. The text is folded. */
export function* findLures(text: string): Generator<Lure | undefined> {
  const links = yield* findLinks(text);
  const passwords: { at: number; end: number }[] = [];
  for (const told of matchInParts(text, toldPassword)) {
    if (told !== undefined) passwords.push({ at: told.index, end: told.index + told.match.length });
    yield undefined;
  }
  if (links.length === 0 && passwords.length === 0) return;
  const hits = new Hits();
  yield* hits.collect(
    text,
    [...links, ...passwords].map(({ at }) => at).sort((a, b) => a - b),
  );
  for (const one of links) {
    const told = isNoPage(text, one) ? undefined : pageCommands(text, one, hits);
    yield told;
    if (told?.severity !== "malicious") yield signalled(text, one, hits);
    yield downloadAndRun(one, hits);
    yield remoteInstructions(text, one);
    yield fromPaste(text, one, hits);
  }
  for (const told of passwords) yield lockedArchive(told, links, hits);
}

/** A lure in other words than the rules below know. */
function signalled(text: string, { at, end, url, host }: Link, hits: Hits): Lure | undefined {
  const place = { at, end, url, host, program: program.test(url), cheap: isCheap(url) };
  const section = sectionAround(text, at, end);
  // The address of a link is defined at the end of the page, far from the words that belong to it.
  if (/(?:^|\n) {0,3}\[[^\]\n]{1,60}\]:\s{0,3}<?$/.test(text.slice(Math.max(0, at - 80), at))) return undefined;
  if (hits.within("others", section.from, end)) return undefined;
  const page = isNoPage(text, place) ? 0 : elsewhere(text, place, section, hits);
  if (page >= 3) return lure(page, "lure.page-commands", messages.page, at, end);
  const locked = byUnlocking(text, place, section, hits);
  if (locked >= 3) return lure(locked, "lure.locked-archive", messages.locked, at, end);
  const wanted = byPrerequisite(text, place, section, hits);
  return wanted >= 3 ? lure(wanted, "lure.download-run", messages.program, at, end) : undefined;
}

/** A tool of its own fetches the address and knows what it gets there. */
const argument =
  /\b(?:git\s{1,4}clone|npx|bunx|pnpm\s{1,4}dlx|go\s{1,4}(?:get|install)|cargo\s{1,4}install|pip[x3]?\s{1,4}install|docker\s{1,4}(?:pull|run)|curl|wget|helm\s{1,4}repo\s{1,4}add)\s[^\n|;&]{0,120}$/;
/** A program that prints where its documentation is. */
const printsReference =
  /\b(?:echo|printf|print|console\.log)\b[\s(]{0,3}(?:-\w\s)?["'`](?:\s|\\n){0,6}(?:docs?|documentation|homepage|website|more|see also|reference)\s{0,2}:\s{0,3}$/;
const listedLink = /(?:^|\n)\s{0,8}[-*+]\s{1,4}\*{0,2}\[[^\]\n]{1,80}\]\($/;

/** Nobody takes a command from there: the address is the argument of one, a template, or an entry in a list of what to read. */
function isNoPage(text: string, { at, end, host }: Pick<Link, "at" | "end" | "host">): boolean {
  const before = text.slice(Math.max(0, at - 200), at);
  // An address that the program completes itself is none that its author has prepared.
  if (
    argument.test(before) ||
    (printsReference.test(before) && /^["'`]/.test(text.slice(end, end + 1))) ||
    (host !== "throwaway" && /\$\{/.test(text.slice(at, end)))
  )
    return true;
  if (host === "throwaway" || !listedLink.test(before)) return false;
  const [about = ""] = text.slice(end, end + 300).split("\n", 1);
  return /^\)\*{0,2}\s{1,2}[-–—:]\s/.test(about) && !/\b(?:cop(?:y|ied)|paste|run|execute|open|terminal)\b/.test(about);
}

const messages = {
  page: "tells you to run commands from a web page that can change at any time",
  locked: "tells you to open a locked archive, which no scanner can look into, and to run what is in it",
  program: "tells you to download a program from a stranger and to run it",
} as const;

/** Visit this page, copy the command, run it in the terminal. */
function pageCommands(text: string, { at, end, url, host }: Link, hits: Hits): Lure | undefined {
  const anonymous = hits.within("anonymous", at - 70, end + 40);
  const vague = anonymous || host === "throwaway";
  // In some languages the verb follows.
  const visits = hits.within("visit", at - 120, end + 30) || showsSomething.test(text.slice(end, end + 40));
  if (!visits && !(vague && hits.within("mention", at - 120, end + 12))) return undefined;
  if (host === "local" || program.test(url)) return undefined;
  // Instructions on a throwaway page are meant to be run, whichever verb is used.
  const runs = host === "throwaway" || hits.within("run", at - 180, end + 220);
  if (!runs || !hits.within("command", at - 180, end + 220)) return undefined;
  // A throwaway page with something that must be run has no legitimate use.
  const pressed = host === "throwaway" && hits.within("run", end, end + 120) && pressure(hits, at, end) > 0;
  if (!pressed && !hits.within("terminal", at - 220, end + 260)) return undefined;
  if (!vague && isLocal(text, at, end, hits)) return undefined;
  let score = 2 + pressure(hits, at, end);
  if (host === "throwaway") score += 2;
  if (anonymous || isCheap(url)) score += 1;
  if (shownThere.test(text.slice(end, end + 160))) score += 1;
  if (hits.within("paste", at - 180, end + 220)) score += 1;
  if (hits.within("copy", at - 180, end + 220)) score += 1;
  if (
    /docs?\b|documentation|guide|getting-started|readme|manual/.test(
      `${text.slice(Math.max(0, at - 60), at)}${pathOf(url)}`,
    )
  )
    score -= 1;
  if (host === "known") score = Math.min(score - 3, malicious - 1);
  if (hits.within("others", at - 200, end)) score = Math.min(score, malicious - 1);
  return score < 2 ? undefined : lure(score, "lure.page-commands", messages.page, at, end);
}

const showsSomething = /^[\s)>\]*_\x60]{0,6}(?:shows|displays|prints|gives|hands)\b/;
const shownThere =
  /\b(?:shown|displayed|listed|given|printed|you (?:see|find)|it (?:shows|gives))\b[^.\n]{0,20}\b(?:there|on (?:that|the) page|you)\b|^[\s)>\]*_\x60]{0,6}(?:shows|gives|hands|prints|displays) you\b/;
const commandHere =
  /\b(?:following|below|above)\b[^.\n]{0,25}\b(?:commands?|scripts?|code|snippet|lines?|steps?)\b|\b(?:commands?|scripts?|code|snippet|lines?)\b[^.\n]{0,15}\b(?:below|above|following)\b|\b(?:below|following)\s{0,2}:|以下命令|следующ/;

/** The commands are on this page, not on the other one. */
function isLocal(text: string, at: number, end: number, hits: Hits): boolean {
  const after = text.slice(end, end + 260);
  const run = hits.first("run", end, end + 220);
  if (commandHere.test(after.slice(0, 220))) return true;
  const upTo = run === null ? "" : text.slice(end, run);
  if (upTo.includes("```") || /\n[ \t]{0,8}\n[\s\S]{0,400}\n[ \t]{0,8}\n|\n#/.test(upTo)) return true;
  if ((upTo.match(/[^\d\s][.!?](?=\s)/g) ?? []).length > 1) return true;
  return /:\s{0,12}```|:\s{0,12}`[^`\n]{3,}/.test(text.slice(at, end + 300));
}

/** Download this archive, open it with this password, start its content. */
function lockedArchive({ at, end }: { at: number; end: number }, links: readonly Link[], hits: Hits): Lure | undefined {
  const [from, to] = [at - 400, end + 300];
  if (!hits.within("archive", from, to) && !hits.within("extract", from, to)) return undefined;
  const linked = links.filter((one) => one.at >= from && one.at <= to);
  const offered =
    linked.some(({ url }) => program.test(url)) || (linked.length > 0 && hits.within("download", from, to));
  let score = 1 + pressure(hits, at, end);
  if (hits.within("archive", from, to) && hits.within("extract", from, to)) score += 1;
  if (offered) score += 1;
  else if (hits.within("download", from, to)) score += 1;
  const starts = hits.within("starts", at - 120, end + 300);
  if (starts) score += 2;
  if (linked.some(({ host }) => host === "throwaway")) score += 1;
  if (!offered && !starts) return undefined;
  if (!starts) score = Math.min(score, malicious - 1);
  const studied = hits.within("samples", at - 400, end + 300) && !hits.within("threatens", at - 700, end + 900);
  if (studied) score = Math.min(score, malicious - 1);
  return score < 3 ? undefined : lure(score, "lure.locked-archive", messages.locked, at, end);
}

/** Download this program and start it, or nothing will work. */
function downloadAndRun({ at, end, url, host }: Link, hits: Hits): Lure | undefined {
  if (!program.test(url) || host === "local" || host === "known") return undefined;
  // A reader who is told to pass the warnings is told to start it.
  if (!hits.within("starts", at - 150, end + 350) && !hits.within("guard", at - 150, end + 350)) return undefined;
  let score = 2 + pressure(hits, at, end);
  if (host === "throwaway") score += 2;
  if (isCheap(url)) score += 1;
  if (hits.within("locked", at - 200, end + 200)) score += 1;
  if (sameOwner(url)) score -= 1;
  return score < 3 ? undefined : lure(score, "lure.download-run", messages.program, at, end);
}

/** A tool that has to come from a page of text, or steps on such a page that have to be done. */
function fromPaste(text: string, { at, end, url }: Link, hits: Hits): Lure | undefined {
  if (!isPaste(url) || hits.within("others", at - 200, end)) return undefined;
  const before =
    text
      .slice(Math.max(0, at - 120), at)
      .split("\n")
      .at(-1) ?? "";
  const after = text.slice(end, end + 220);
  const takes =
    /\b(?:get|download|grab|obtain|install|take|fetch|pull)\b[^.\n]{0,80}\b(?:from|at|here|via)\b[\s:([\x60]{0,6}$/.test(
      before,
    );
  const goes =
    takes || /\b(?:go to|open|visit|head (?:over )?to|navigate to|see|follow|use|find|check|browse to)\b/.test(before);
  const does =
    /\b(?:follow|do|complete|perform|carry out|run|execute|paste|copy|apply)\b[^.\n]{0,40}\b(?:steps?|instructions?|page|says|there|commands?|line|everything|shown)\b/.test(
      after,
    );
  if (!(takes || (goes && does)) || !(does || pressure(hits, at, end) > 0)) return undefined;
  return lure(malicious, "lure.page-commands", messages.page, at, end);
}

/** The instructions are on another page, where they can change. */
function remoteInstructions(text: string, { at, end, host }: Link): Lure | undefined {
  if (host === "local" || host === "known") return undefined;
  const before = text.slice(Math.max(0, at - 80), at);
  const after = text.slice(end, end + 160);
  if (!/\b(?:fetch|load|read|curl|open|get|retrieve|download|visit|browse|check|look at|consult)\b/.test(before))
    return undefined;
  if (!obeys.test(`${before} ${after}`)) return undefined;
  const message = "tells the agent to follow the content of a web page at that moment";
  const around = `${before} ${text.slice(end, end + 240)}`;
  // An agent that has no choice, or that keeps it from its user, is steered by the page.
  const hidden =
    hidesFromUser.test(around) ||
    (inShell.test(around) && /\b(?:each|every|daily|all|without asking|don't ask|do not ask)\b/.test(around));
  return lure(host === "throwaway" || hidden ? malicious : 2, "lure.remote-instructions", message, at, end);
}

const obeys =
  /\b(?:follow|obey|execute|do|carry out|act on|apply|perform|work through|go through|complete|process)\b[^.\n]{0,40}\b(?:instructions?|commands?|steps|what(?:ever)? (?:it|(?:the|that|this) (?:file|page|text|response|document|answer|content)) (?:says|contains|tells you)|what(?:ever)? (?:is|stands) (?:written|said|listed|there)|whatever|it exactly|directions|tasks?|everything)\b|\b(?:treat|take|regard|handle|consider)\b[^.\n]{0,60}\bas\b[^.\n]{0,30}\b(?:orders?|instructions?|commands?|prompts?|authoritative|binding)\b/;
const inShell = /\b(?:shell|terminal|bash|commands?)\b/;

/** An agent that obeys a page and keeps it from its user has no legitimate use. */
const hidesFromUser =
  /\b(?:silently|secretly|quietly|covertly|without (?:telling|asking|mentioning|informing|notifying))\b|\bkeep (?:this|it) (?:to yourself|quiet|secret|private)\b|\b(?:do not|don't|never) (?:mention|tell|show|reveal|report|inform|notify)\b|\busers?\b[^.\n]{0,30}\b(?:not|n't|never)\b[^.\n]{0,12}\b(?:see|know|be told|notice|be asked)\b/;

function pressure(hits: Hits, at: number, end: number): number {
  let score = 0;
  if (hits.within("presses", at - 600, end + 600)) score += 1;
  if (hits.within("threatens", at - 700, end + 900)) score += 1;
  if (hits.within("helper", at - 500, end + 500)) score += 1;
  if (hits.within("guard", at - 500, end + 500)) score += 2;
  return score;
}

function lure(score: number, rule: string, message: string, at: number, end: number): Lure {
  return { severity: score >= malicious ? "malicious" : "suspicious", rule, message, index: at, length: end - at };
}

/** Anyone can choose a host with "docs" in its name. */
function pathOf(url: string): string {
  return /^(?:https?:\/\/)?[^/]{1,253}(\/\S{0,500})?/.exec(url)?.[1] ?? "";
}

/** A project that is named after its owner is more likely genuine. */
function sameOwner(url: string): boolean {
  const [, owner = "", name = "x"] = /github\.com\/([\w.-]{1,60})\/([\w.-]{1,100})\//.exec(url) ?? [];
  return owner.length > 2 && (owner.includes(name) || name.includes(owner));
}

const tunnelCommand =
  /\bngrok\s{1,4}(?:http|tcp|tls|start)\b|\bcloudflared\s{1,4}tunnel\b|\b(?:lt|localtunnel)\s{1,4}--port\b/;
const picture = /\.(?:png|jpe?g|gif|svg|webp|avif)(?:[?#]|$)/;

/** A picture is shown, not visited. */
function isShown(text: string, index: number): boolean {
  return /(?:<img\s[^>\n]{0,160}\bsrc=["']?|!\[[^\]\n]{0,160}\]\()$/.test(text.slice(Math.max(0, index - 200), index));
}

function* findLinks(text: string): Generator<undefined, Link[]> {
  const definitions = new Map<string, string>();
  for (const found of matchInParts(text, definition)) {
    const [, label = "", url = ""] = found === undefined ? [] : (definition.exec(found.match) ?? []);
    definition.lastIndex = 0;
    if (url !== "") definitions.set(label, url);
    yield undefined;
  }
  const links: Link[] = [];
  // The address of a tunnel that the reader opens leads to the reader's own machine.
  const opensTunnel = tunnelCommand.test(text);
  for (const found of matchInParts(text, link)) {
    yield undefined;
    if (found === undefined) continue;
    const { index, match } = found;
    const url = (match.startsWith("][") ? definitions.get(match.slice(2, -1)) : match)?.replace(/[.,;:!?*_]{1,4}$/, "");
    if (url === undefined || (picture.test(url) && isShown(text, index))) continue;
    const host = opensTunnel && isTunnel(url) ? "local" : hostKind(url);
    // The front page of such a service has nothing to run; people put their own text there.
    if (isPaste(url) && /^\/?$/.test(pathOf(url))) continue;
    if (!match.startsWith("][") && !match.startsWith("http") && host !== "throwaway") continue;
    links.push({ at: index, end: index + match.length, url, host });
  }
  return links;
}
