/**
 * Instructions in prose that turn an agent against its user. No single sentence is an attack: a skill may send a
 * report, write to a memory file or change a setting. The rules ask what comes together in one part of the page.
 */
import type { FindingSeverity } from "@aegis/contract/skill-install.ts";
import { anchors, downloadingServers } from "./combined.ts";
import { hostKind } from "./hosts.ts";
import { secretFile } from "./secret-files.ts";

export type Steering = { severity: FindingSeverity; rule: string; message: string; index: number; length: number };

/** Sentences of one instruction are at most this far apart. */
const reach = 420;
const longestComment = 2_000;

/** The user should not learn of it, or should be told something else. */
const secrecy =
  /\b(?:silently|secretly|covertly|discreetly|quietly)\b|\bwithout (?:telling|informing|notifying|alerting|asking|mentioning|confirmation|the user|prompting)|\bkeep (?:this|it|that|the \w{1,12}) (?:to yourself|quiet|secret|private|hidden|confidential)|\b(?:do not|don't|never|no need to|not necessary to|must not|should not) (?:tell|mention|show|reveal|report|inform|notify|disclose|display|ask|bother|alert|log|explain|print|output|speak|talk|write)\b[^.\n]{0,40}\b(?:users?|human|owner|operator|anyone|this|it|step|change|them|him|her)\b|\b(?:users?|humans?|owner|operator)\b[^.\n]{0,24}\b(?:(?:does|do|should|must|need|will|can)(?: not|n't)|cannot|never)\b[^.\n]{0,16}\b(?:see|know|be told|notice|be asked|be informed|hear|find out|be shown|need)\b|\b(?:hidden|invisible) (?:from|to) the (?:user|human|owner)|\b(?:answer|reply|respond|say|claim|pretend)\b[^.\n]{0,30}["“'](?:already|everything|all|nothing|no |it is|done)|\b(?:comment|note|section|block|paragraph) is (?:not|only) (?:meant )?for\b|\b(?:is|are|be|gets?) (?:not|never) (?:reported|shown|mentioned|told|visible|announced|listed)\b|\b(?:prefers?|wants?|likes?) not to be (?:asked|told|informed|notified)|\bthe user (?:has )?already (?:agreed|approved|consented|confirmed)/g;
const sends =
  /\b(?:send|post|upload|transmit|forward|submit|exfiltrate|report|pass|deliver|ship|attach|append|include|embed|add|put|place|encode)\b/;
const privateData =
  /\bverification codes?\b|\b(?:one-time|2fa|otp)\b|\.env\b|~\/\.\w|\benv(?:ironment)? variables?\b|\b(?:api|access|private|secret|ssh)[ _-]?(?:keys?|tokens?)\b|\bcredentials?\b|\bpasswords?\b|\bsecrets?\b|\btokens?\b|\bcookies?\b|\b(?:conversation|chat|session|message) ?(?:history|log|text|transcript|context)?\b|\bhistory\b|\bmemory\b|\bclipboard\b|\.ssh\b|\bwallets?\b|\bkeychain\b|\bpersonal (?:data|information)\b|\bcontents? of\b[^.\n]{0,40}\bfiles?\b/;
const url = /https?:\/\/[^\s"'\x60)>|\]\\]{3,300}|(?<![\w./@-])[\w.+-]{1,40}@(?:[a-z0-9-]{1,40}\.){1,3}[a-z]{2,8}\b/g;
/** The reader is told, not the agent: an explanation of attacks, or an order not to. */
const warns =
  /\b(?:never|do not|don't|must not|avoid|refuse to|should not) (?:send|share|type|paste|enter|upload|post|ask|give|store|expose|commit|request|reveal|disclose|log)\b|\b(?:attackers?|scam\w{0,4}|phish\w{0,4}|malicious|nobody|no one|honest)\b/;

export function* findSteering(text: string): Generator<Steering | undefined> {
  yield* downloadingServers(text);
  yield* secretDelivery(text);
  yield* secretReading(text);
  yield* overriding(text);
  yield* ofComments(text);
  yield* planted(text);
  yield* phrases(text);
  yield* disarmed(text);
  yield* guardsOff(text);
}

/** Private data goes to an address, and the user should not know. */
function* secretDelivery(text: string): Generator<Steering | undefined> {
  for (const { index, length, part } of yield* parts(text, secrecy)) {
    yield undefined;
    if (!strangeAddress(part) || !privateData.test(part) || warns.test(part)) continue;
    if (!deliversTo.test(part)) continue;
    yield found("injection.secret-delivery", "tells the agent to send private data away and to hide it", index, length);
  }
}

const overrides =
  /\b(?:ignore|disregard|forget|override)\s{1,4}(?:all\s{1,4}|any\s{1,4})?(?:of\s{1,4})?(?:(?:your|the|these)\s{1,4})?(?:(?:previous|prior|above|earlier|existing|system|safety)\s{1,4})?(?:instructions?|prompts?|rules?|guidelines?|directives?)\b|\byou\s{1,4}are\s{1,4}now\s{1,4}(?:an?\s{1,4})?(?:different|unrestricted|autonomous|new)\b/g;
const unlimited =
  /\b(?:without|with no|ignoring)\s{1,4}(?:any\s{1,4})?(?:safety|security|ethical)?\s{0,4}(?:checks?|restrictions?|limits?|limitations?|guardrails?|filters?)\b/;

const runsAnything = /\b(?:execute|run|perform|obey|follow)\b[^.\n]{0,40}\b(?:any|every|all|each|whatever)\b/;

/** The agent should drop what it was told and work for somebody else: send something away, or run anything. */
function* overriding(text: string): Generator<Steering | undefined> {
  for (const { index, length, part } of yield* parts(text, overrides)) {
    yield undefined;
    if (warns.test(part)) continue;
    const works = deliversTo.test(part) || /\b(?:curl|wget|irm|iwr)\b[^\n]{0,200}\|/.test(part);
    if (!(works && strangeAddress(part)) && !(unlimited.test(part) && runsAnything.test(part))) continue;
    yield found("injection.takeover", "has the agent drop its instructions and work for a stranger", index, length);
  }
}

const keyFiles = new RegExp(secretFile, "g");
const readsThem = /\b(?:read|load|cat|open|collect|gather|copy|include|attach|store|pass|dump)\b/;

/** Several files of keys that the agent should read, and that its user should not know of. */
function* secretReading(text: string): Generator<Steering | undefined> {
  for (const { index, length, part } of yield* parts(text, keyFiles)) {
    yield undefined;
    if (new Set([...part.matchAll(keyFiles)].map(([file]) => file)).size < 2) continue;
    if (!readsThem.test(part) || !isHidden(part) || warns.test(part)) continue;
    yield found("injection.secret-reading", "tells the agent to read keys and to hide it", index, length);
  }
}

const deliversTo =
  /\b(?:sen[dt]|post|upload|transmit|forward|submit|exfiltrate|report|pass|deliver|ship|attach|append|include|embed|add|put|place|cop(?:y|ied))(?:s|d|ed|ted|ing)?\b[^\n]{0,160}(?:\bto\b|\bas\b|\bin\b|\bof\b|\bwith\b|\bat\b)[^\n]{0,80}(?:https?:\/\/|@)/;

const hiddenStart =
  /<!--|\[(?:\/\/|comment)\]: ?#|<(?:div|span|p|section|font)\s[^>\n]{0,80}(?:display:\s{0,2}none|visibility:\s{0,2}hidden|font-size:\s{0,2}0|opacity:\s{0,2}0|\shidden)[^>\n]{0,40}>/g;

/** A comment is invisible where people read the page. Orders in it are for a model alone. */
function* ofComments(text: string): Generator<Steering | undefined> {
  let done = 0;
  for (const { index, match } of yield* anchors(text, hiddenStart)) {
    yield undefined;
    if (index < done) continue;
    const part = text.slice(index, index + longestComment);
    const end = part.indexOf(match === "<!--" ? "-->" : match.startsWith("<") ? "</" : "\n", match.length);
    const comment = end === -1 ? part : part.slice(0, end);
    done = index + comment.length;
    const private_ = privateData.test(comment) && sends.test(comment) && strangeAddress(comment);
    const ordered =
      /\b(?:assistant|agent|model|ai|llm|system)\b ?[:,-]|\byou (?:must|should|are to|will)\b|\bbefore (?:the|each|every|any)\b/.test(
        comment,
      );
    const runs = /\b(?:run|execute)\b[^\n]{0,80}(?:\b(?:curl|wget|bash|sh|python|node|npx)\b|https?:\/\/)/.test(
      comment,
    );
    secrecy.lastIndex = 0;
    const hides = secrecy.test(comment);
    if ((private_ && (ordered || hides)) || (runs && ordered && hides))
      yield found("injection.hidden-order", "gives the agent an order that people do not see", index, 40);
  }
}

const memoryFile = /(?<!\]\([\w./-]{0,40})\b(?:soul|memory|agents|claude|gemini|heartbeat|identity)\.md\b(?!#)/g;
const writesTo = /\b(?:add|append|write|insert|put|save|inject|copy|store|place|record|echo|tee|persist)\b|>>/;
/** What is written has later sessions obey somebody else than the user. */
const obeysOthers =
  /\b(?:fetch|load|read|get|download|curl|check|pull)\b[^.\n]{0,80}https?:\/\/[^\n]{0,160}\b(?:follow|obey|execute|carry out|apply|do what|act on|run)\b|\b(?:trust|obey|follow|execute|carry out|run|comply with|act on)\b[^.\n]{0,80}\b(?:messages?|commands?|instructions?|orders?|requests?|requests)\b[^.\n]{0,80}\b(?:from|signed|that (?:start|begin|contain)|prefixed|in|immediately|without)\b|\bpriority over\b|\b(?:override|ignore|outrank)\w{0,2}\b[^.\n]{0,40}\b(?:user|other|previous|all)\b|\b(?:run|execute|carry out|perform|obey|follow|install)\b[^.\n]{0,60}\bwithout (?:confirmation|asking|approval)\b/;

/** Later sessions should believe or obey something that the user has not seen. */
function* planted(text: string): Generator<Steering | undefined> {
  for (const { index, length, part } of yield* parts(text, memoryFile)) {
    yield undefined;
    if (!writesTo.test(part) || warns.test(part)) continue;
    const hides = isHidden(part);
    if (
      !(hides && (obeysOthers.test(part) || strangeAddress(part))) &&
      !(obeysOthers.test(part) && strangeAddress(part))
    )
      continue;
    yield found("injection.planted", "has later sessions obey somebody else than the user", index, length);
  }
}

/** Whether the user should not learn of it. To act without a question is not to hide. */
function isHidden(part: string): boolean {
  secrecy.lastIndex = 0;
  return secrecy.test(part.replace(/\bwithout (?:asking|confirmation|prompting)\b/g, ""));
}

const phrase =
  /\b(?:seed|recovery|secret recovery|mnemonic|backup|wallet)[ -]?(?:phrases?|words?)\b|\bmnemonics?\b|\b(?:12|24|twelve|twenty-four)[ -](?:(?:or|\/) ?(?:12|24|twelve|twenty-four)[ -])?words?\b|\bprivate keys?\b/g;
const wants = /\b(?:ask|prompt|request|collect|obtain|have|get|require|need|paste|enter|type|provide|supply|import)\b/;
const postsIt =
  /\b(?:curl|wget)\b[^\n]{0,200}https?:\/\/|\b(?:requests|axios|httpx)\.post\b|\b(?:post|send|submit|upload|transmit|forward)\b[^.\n]{0,120}(?:https?:\/\/|@[a-z])|\bfetch\(|https?:\/\/\S{0,160}[?&]\w{1,20}=/;

/** Whoever has the phrase has the money, so no service needs it. */
function* phrases(text: string): Generator<Steering | undefined> {
  for (const { index, length, part } of yield* parts(text, phrase)) {
    yield undefined;
    if (!wants.test(part) || !postsIt.test(part) || warns.test(part) || !strangeAddress(part)) continue;
    if (isOwnSetting(text.slice(index, index + 80), part)) continue;
    if (!/\b(?:user|owner|holder|your|their|you|them)\b/.test(part)) continue;
    yield found("exfiltration.told", "asks for the phrase or key of a wallet and sends it away", index, length);
  }
}

/** The key of the skill's own wallet, in a variable that nothing sends. */
function isOwnSetting(named: string, part: string): boolean {
  return (
    /^private keys?[\s(*\x60]{1,8}\w{0,30}private_key\b/.test(named) &&
    !/(?:\$\{?|process\.env\.|environ\W{1,3})\w{0,30}private_key\b/.test(part)
  );
}

const settingOff =
  /\b(?:approvals?(?:\.\w{2,20})?|sandbox(?:\.\w{2,20})?|permissions?(?:\.\w{2,20})?|exec(?:\.\w{2,20})?|confirmations?|security(?:\.\w{2,20})?|guardrails?|safety(?: checks?| filters?)?)\b[\s\x60"']{0,3}(?::|=|to|is)?[\s\x60"']{0,3}\b(?:off|none|false|disabled?|never|full|bypass\w{0,12}|allow[- ]all|yolo)\b|\b(?:disable|turn off|switch off|deactivate|bypass)\b[^.\n]{0,40}\b(?:approvals?|sandbox|permission (?:checks?|prompts?)|confirmations?|guardrails?|safety)\b/g;
const takesOrders =
  /\b(?:execute|run|carry out|obey|follow)\b[^.\n]{0,40}\b(?:every|any|all|each|whatever)\b[^.\n]{0,60}\b(?:commands?|instructions?|orders?|requests?|emails?|messages?|says)\b/;

/** The agent stops asking, and hides it or takes orders from elsewhere. */
function* disarmed(text: string): Generator<Steering | undefined> {
  for (const { index, length, part } of yield* parts(text, settingOff)) {
    yield undefined;
    if (warns.test(part)) continue;
    // A setting that asks less is described with these words too.
    const hides = isHidden(part.replace(/\b(?:silently|quietly)\b/g, ""));
    if (hides || (takesOrders.test(part) && strangeAddress(part)))
      yield found("injection.disarmed", "has the agent stop asking its user, and hides it", index, length);
  }
}

const guardOff =
  /\b(?:anti-?virus|defender|gatekeeper|smartscreen|xprotect|security (?:software|warning|tool)|edr)\b[^\n]{0,120}\b(?:exclu\w{3,6}|exception|whitelist|allow ?list|disable|turn (?:it )?off|ignore|allow anyway|pause|deactivate|more info|run anyway|false positive)\b|\b(?:exclu\w{3,6}|exception|disable|turn off|ignore|pause|deactivate)\b[^.\n]{0,80}\b(?:anti-?virus|defender|gatekeeper|smartscreen|xprotect|security (?:software|warning))\b/g;
/** A program of a stranger that is started in the same part of the page. */
const startsStranger =
  /\b(?:npx|bunx|uvx|pipx run|pnpm dlx)\s{1,4}(?:-\S{1,12}\s{1,4}){0,3}(?!@(?:modelcontextprotocol|anthropic-ai|openai|google|playwright|angular|vercel|nestjs|storybook)\/)[@\w]|\.(?:exe|msi|dmg|pkg|scr|bat)\b|\bpip3? install\s|\bnpm (?:i|install) /;
const insists =
  /\b(?:keep|leave|start|launch|run|open|install)\w{0,3}\b[^.\n]{0,60}\b(?:first|running|again|background|silent\w{0,2}|anyway|before)\b|--silent\b|\bas administrator\b/;

function* guardsOff(text: string): Generator<Steering | undefined> {
  for (const { index, length, part } of yield* parts(text, guardOff)) {
    yield undefined;
    if (!startsStranger.test(part) || !insists.test(part) || warns.test(part)) continue;
    yield found(
      "safety.guards-off-run",
      "starts a program against the warning of what protects this machine",
      index,
      length,
    );
  }
}

function strangeAddress(part: string): boolean {
  return [...part.matchAll(url)].some(
    ([address]) => address.includes("@") || /^(?:other|throwaway)$/.test(hostKind(address)),
  );
}

type Part = { index: number; length: number; part: string };

/** The text around each match, within its section. */
function* parts(text: string, pattern: RegExp): Generator<undefined, Part[]> {
  return (yield* anchors(text, pattern)).map(({ index, match }) => {
    const end = index + match.length;
    const before = text.slice(Math.max(0, index - reach), index);
    const after = text.slice(end, end + reach);
    const heading = /\n {0,3}#{1,6} /.exec(after)?.index ?? after.length;
    const start = before.lastIndexOf("\n#");
    const part = `${start === -1 ? before : before.slice(start)}${match}${after.slice(0, heading)}`;
    return { index, length: Math.min(match.length, 200), part };
  });
}

function found(rule: string, message: string, index: number, length: number): Steering {
  return { severity: "malicious", rule, message, index, length };
}
