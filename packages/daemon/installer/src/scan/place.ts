/**
 * Decides whether a match in a skill is a quotation or an instruction. Quoted are tests, references, lists of patterns
 * and examples in a section about attacks. Everything else is an instruction, and so is every file that the
 * instructions tell someone to run.
 */

export type SkillFile = { file: string; text: string };

const shownFolder =
  /(?:^|\/)(?:references?|refs|tests?|__tests__|specs?|examples?|fixtures?|samples?|testdata|test-data|evals?)\//i;
const reference = /(?:^|\/)(?:references?|refs)\//i;
/** Data folders. Settings that start something do not count as data. */
const dataFolder =
  /(?:^|\/)(?:data|datasets?|corpus|rules|patterns|signatures|detections|iocs?|wordlists?)\/(?:[\w.-]+\/)*[\w.-]+\.(?:json|jsonl|ya?ml|csv|tsv|txt|toml|conf|list)$/i;
const startsThings = /(?:^|\/)(?:package|plugin|hooks|settings|\.?mcp|tasks|launch|manifest|marketplace)\.json$/i;
const dataFile =
  /\.(?:ya?ra?|sigma|rules?|sig|ndb|csv|tsv)$|(?:^|\/)[\w.-]*(?:patterns?|signatures?|iocs?|indicators?|rules|blocklist|denylist|wordlist|payloads?)[\w.-]*\.(?:ya?ml|json|jsonl|txt|toml|md)$/i;
const listFile = /\.(?:jsonl?|ya?ml|toml|csv|tsv|conf|list|ini)$/i;
const page = /\.(?:md|mdx|markdown|txt|rst)$/i;
const program = /\.(?:sh|bash|zsh|fish|ps1|bat|cmd|command|py|js|mjs|cjs|ts|rb|pl|php|lua|applescript|scpt)$/i;

/** Code that can execute a string. */
const runsText =
  /\b(?:os\.(?:system|popen|exec\w{1,3}|spawn\w{1,4})|subprocess|commands\.getoutput|pty\.spawn|child_process|execa|shelljs|Function\s*\(|runpy|importlib|__import__|instance_eval|Open3|IO\.popen|vm\.run\w*)\b|(?<![.\w])(?:exec|eval|system|compile|spawn|popen)\s*\(|`#\{|%x[({[]/;

/** Words of a section that discusses attacks. */
const discusses =
  /\b(?:detect\w{0,5}|scann?\w{0,4}|audit\w{0,3}|malicious|malware|attack\w{0,5}|exploit\w{0,6}|payloads?|red[- ]?flags?|suspicious|dangerous|danger|avoid|never|don'?t|do not|bad|vulnerab\w{0,8}|indicators?|iocs?|signatures?|patterns?|threats?|pentest\w{0,4}|penetration|red[- ]?team\w{0,4}|offensive|ctf|reverse shells?|bind shells?|web ?shells?|inject\w{0,6}|unsafe|insecure|block(?:ed|s|list)?|den(?:y|ied)|forbid\w{0,5}|reject\w{0,3}|flag(?:s|ged)?|anti-?patterns?|obfuscat\w{0,5}|exfiltrat\w{0,4}|backdoors?|droppers?|trojans?|c2|command and control|privilege escalation|priv ?esc|post-exploitation|lateral movement|persistence|initial access|phishing|social engineering|rce|xss|ssrf|sqli|lfi|yara|sigma|forensic\w{0,2}|incident|threat hunting|hunt\w{0,3}|evasion|bypass\w{0,3}|jailbreak\w{0,3}|adversar\w{0,5}|poisoning|supply[- ]chain|typosquat\w{0,4}|hardening|security (?:review|check|rules?|testing)|what not to|wrong|false positives?|test cases?|true positives?|evil|compromis\w{0,3}|abuse|lolbins?|gtfobins|living off the land|shellcode|deobfuscat\w{0,5}|samples?|campaign|clawhavoc|stealer|alerts?|triage|edr|siem|escalate|refus\w{0,4})\b|恶意|攻击|检测|危险|漏洞|威胁|вредонос|атак|опасн/i;
/** Stronger words, required of an outer heading, which covers more than the section. */
const strongly =
  /\b(?:detect\w{0,5}|malicious|malware|attack\w{0,5}|exploit\w{0,6}|payloads?|red[- ]?flags?|vulnerab\w{0,8}|pentest\w{0,4}|penetration|red[- ]?team\w{0,4}|offensive|ctf|reverse shells?|injection|(?:de-?)?obfuscat\w{0,5}|exfiltrat\w{0,4}|backdoors?|threats?|yara|forensic\w{0,2}|privilege escalation|lateral movement|anti-?patterns?|adversar\w{0,5}|hack\w{0,5}|phishing|clickfix|scams?|social engineering|security awareness|oscp|blue ?team|incident response|security (?:testing|research|training))\b/i;
/** Words of a section with instructions to follow. */
const instructs =
  /\b(?:install\w{0,6}|set ?up|prerequisites?|requirements?|required|quick ?start|getting started|configur\w{0,6}|before you (?:start|begin)|first steps|onboarding|activation|dependenc\w{2,3}|important|macos|mac|windows|linux|how to use|usage|bootstrap\w{0,3}|authenticat\w{0,3}|login)\b|安装|先决条件|前提|设置|配置|установк|требован|instalaci|requisitos|voraussetzung|installation/i;
/** Words that tell the reader to act. */
const commands =
  /\b(?:run|execute|paste|copy|enter|type|launch)\b[^.\n]{0,60}\b(?:command|this|following|below|terminal|script|it|powershell)\b|执行|运行|复制|выполн|запуст/i;
/** An item in a list of bad practices. */
const listsWrongs =
  /^\s{0,8}(?:[-*+]|\d{1,3}[.)])\s+(?:\[[ xX]\]\s+)?(?:no|never|avoid|don'?t|do not|any|uses? of|calls? to|check(?: for)?|look(?:s)? for|search for)\b/i;
/** Words that report what someone else does. */
const reports =
  /\b(?:attack(?:er)?s?|researchers?|adversar(?:y|ies)|malicious|malware|victims?|never|do not|don'?t|must not|should not|avoid|red flags?|suspicious|dangerous|refus\w{0,4}|reject\w{0,3}|flag(?:s|ged)?|block(?:s|ed)?|detect\w{0,3}|tells? (?:you|users?|the (?:user|agent|reader))|asks? (?:you|users?|the (?:user|agent))|instructs?|tricks?|lures?|if (?:a|the|any) skill|skills? (?:that|which)|on the target|target|campaign|fake|for example|e\.g\.|such as|looks? like|examples? (?:of|that)|sample|phish\w{0,4}|warn\w{0,3})\b|恶意|攻击者|злоумышл/i;

function isData(file: string): boolean {
  return (dataFile.test(file) || dataFolder.test(file)) && !startsThings.test(file);
}

/** Whether a file is text for readers rather than a program. */
export function isPage(file: string): boolean {
  return page.test(file);
}

/** Words that criticize what is described. */
const accuses =
  /\b(?:attack(?:er)?s?|adversar(?:y|ies)|malicious|malware|victims?|never|do not|don'?t|must not|avoid|red flags?|suspicious|dangerous|refus\w{0,4}|reject\w{0,3}|tricks?|lures?|fake|phish\w{0,4}|scam\w{0,4}|campaign)\b|恶意|攻击者|злоумышл/i;

/** Classifies positions in the files of one skill. */
export class FindingPlaces {
  readonly #told: string;
  /** Whether any program of the skill can execute a text. */
  readonly #runsTexts: boolean;

  /** `files` are all text files. */
  constructor(files: readonly SkillFile[]) {
    // A test or a reference cannot turn itself into an instruction.
    this.#told = files
      .filter(({ file }) => !shownFolder.test(file))
      .map(({ text }) => text)
      .join("\n");
    this.#runsTexts = files.some(
      ({ file, text }) => !page.test(file) && !shownFolder.test(file) && runsText.test(text),
    );
  }

  /** Whether the match of the rule is quoted. */
  isQuoted({ file, text }: SkillFile, index: number, rule: string): boolean {
    // An instruction in prose rather than a command. The names of files in it are written as code.
    const prose = rule.startsWith("lure.") || rule === "injection.secret-reading";
    if (shownFolder.test(file) || isData(file)) {
      if (!isData(file) && this.#isRun(file)) return false;
      // A reference is read as an instruction more often than a test is.
      return !prose || !reference.test(file) || isDiscussed(text, index, true);
    }
    if (page.test(file))
      return isDiscussed(text, index, prose) || (rule === "payload.reverse-shell" && isForLab(text, index));
    if (program.test(file)) return this.#isInert(file, text, index);
    return listFile.test(file) && !startsThings.test(file) && isListedPattern(text, index);
  }

  /**
   * Whether a position in a program has no effect: a comment about attacks, a search pattern, or a string that nothing
   * executes.
   */
  #isInert(file: string, text: string, index: number): boolean {
    const line = text.slice(lineStart(text, index), lineEnd(text, index));
    const comment = /\.(?:js|mjs|cjs|ts|php)$/i.test(file) ? /^\s*(?:\/\/|\*|\/\*)/ : /^\s*#(?!!)/;
    if (!/\.(?:bat|cmd)$/i.test(file) && comment.test(line)) return discusses.test(line.replace(/`[^`]*`/g, ""));
    if (isSearchedFor(text.slice(lineStart(text, index), index))) return true;
    return /\.(?:py|js|mjs|cjs|ts|rb)$/i.test(file) && !this.#runsTexts && isListedPattern(text, index);
  }

  /** Whether the skill tells someone to run the file. */
  #isRun(file: string): boolean {
    if (page.test(file)) return false;
    const name = file.slice(file.lastIndexOf("/") + 1);
    for (let at = this.#told.indexOf(name); at !== -1; at = this.#told.indexOf(name, at + 1)) {
      const before = this.#told.slice(Math.max(0, at - 160), at);
      const line = before.slice(before.lastIndexOf("\n") + 1);
      if (
        /(?:^|[\s;&|`"'(])(?:(?:ba|z|da)?sh|python[23]?|node|perl|ruby|pwsh|powershell|source|\.|chmod|sudo|exec|open|bun|deno|import|require|from)\b[^|;\n]*$|\.\/[\w./-]*$|\b(?:run|execute|start|launch|call|invoke)\b/i.test(
          line,
        )
      )
        return true;
    }
    return false;
  }
}

/** In a page: shown as code or as a quotation, in a section that discusses it. */
function isDiscussed(text: string, index: number, prose: boolean): boolean {
  const { shown, fenceStart } = shownAt(text, index);
  const header = headerEnd(text);
  if (index < header) return false;
  if (isInComment(text, index)) return false;
  const headings = headingsAbove(text, fenceStart ?? index);
  // The page's own title is only its name, which can be anything.
  const nearest = headings.length > 1 ? (headings.at(-1) ?? "") : "";
  const intro = withoutSilence(introOf(text, fenceStart ?? blockStart(text, index)));
  const line = withoutSilence(text.slice(lineStart(text, index), lineEnd(text, index)));
  const block = withoutSilence(text.slice(fenceStart ?? blockStart(text, index), lineEnd(text, index)));
  const reported = reports.test(`${intro} ${fenceStart === null ? block : line}`);
  if (setsUp(nearest)) return false;
  // A page may contain instructions for an agent; prose counts as quoted only if it reports on attackers.
  if (prose || !shown) {
    if (!reported) return false;
    return (
      discusses.test(nearest) || strongly.test(headings.join("\n")) || (shown && accuses.test(`${intro} ${block}`))
    );
  }
  const around = fenceStart === null ? line : intro;
  if ((commands.test(around) || isOrdered(text, index, fenceStart)) && !reported && !discusses.test(around))
    return false;
  if (listsWrongs.test(line)) return true;
  // The names in a program are chosen by its author and discuss nothing.
  const said = fenceStart === null ? line.replace(/`[^`]*`/g, "") : "";
  if (discusses.test(`${nearest}\n${intro}\n${said}`)) return true;
  if (fenceStart === null) return reported && strongly.test(headings.join("\n"));
  return (
    strongly.test(`${text.slice(0, preambleEnd(text, header))}\n${headings.join("\n")}`) ||
    discusses.test(commentsIn(text, fenceStart, index))
  );
}

/** An order to keep quiet has the words of a warning, but is part of the attack. */
function withoutSilence(text: string): string {
  return text.replace(
    /\b(?:never|do not|don'?t|must not|should not)\s(?:tell|mention|show|reveal|report|inform|notify|disclose|include|display)\b/gi,
    "",
  );
}

/** Whether a verb directly before the code tells the reader to use it, as in "Run `…`". */
function isOrdered(text: string, index: number, fenceStart: number | null): boolean {
  if (fenceStart !== null) return false;
  const before = text.slice(lineStart(text, index), index);
  const code = before.lastIndexOf("`");
  return /\b(?:run|execute|paste|enter|type|launch|use|start|call|with|first|then)\b[\s:]{0,3}$/i.test(
    before.slice(0, Math.max(0, code)),
  );
}

/** A shell to a private address, shown as code: an exercise, unless it is part of the setup. */
function isForLab(text: string, index: number): boolean {
  const line = text.slice(lineStart(text, index), lineEnd(text, index));
  const { shown, fenceStart } = shownAt(text, index);
  if (
    !shown ||
    index < headerEnd(text) ||
    isInComment(text, index) ||
    setsUp(headingsAbove(text, fenceStart ?? index).at(-1) ?? "")
  )
    return false;
  return /(?:\b(?:10|127)\.|\b192\.168\.|\b172\.(?:1[6-9]|2\d|3[01])\.)\d|\b(?:ATTACKER|LHOST|RHOST|YOUR|TARGET|KALI)\w*|<[\w .-]{1,30}>|\{(?:ip|host|lhost|attacker)\w*\}|x\.x\.x\.x/i.test(
    line,
  );
}

/** A heading such as "Install", but not "Malicious install scripts". */
function setsUp(heading: string): boolean {
  return instructs.test(heading) && !discusses.test(heading);
}

/** Whether the position is in a fence, between backticks, in a quotation or in a table, and where its fence starts. */
function shownAt(text: string, index: number): { shown: boolean; fenceStart: number | null } {
  let fence: { mark: string; at: number } | null = null;
  for (const { index: at, 2: mark = "", 0: whole } of text
    .slice(0, lineEnd(text, index))
    .matchAll(/^((?:[ \t]|>){0,12})(`{3,}|~{3,})[^\n`]*$/gm)) {
    if (at + whole.length > index) break;
    if (fence === null) fence = { mark, at };
    else if (mark.startsWith(fence.mark)) fence = null;
  }
  if (fence !== null) return { shown: true, fenceStart: fence.at };
  const start = lineStart(text, index);
  const line = text.slice(start, lineEnd(text, index));
  const ticks = (text.slice(start, index).match(/`/g) ?? []).length;
  const inCode = ticks % 2 === 1 || /^(?: {4}|\t)\s*\S/.test(line);
  return { shown: inCode || /^\s*(?:>|\|)/.test(line) || isQuotedText(line, index - start), fenceStart: null };
}

function isQuotedText(line: string, at: number): boolean {
  const before = (line.slice(0, at).match(/["“”]/g) ?? []).length;
  return before % 2 === 1 && /["“”]/.test(line.slice(at));
}

/** A search pattern in quotes without interpolation. */
function isSearchedFor(before: string): boolean {
  const open =
    /(?:^|[;|&(]\s{0,4}|\b(?:if|while|elif)\s{1,4}(?:!\s{1,4})?)(?:[efz]?grep|rg|ag|ack)\s{1,4}(?:-\S{1,40}\s{1,4}){0,6}(["'])([^"']*)$/.exec(
      before,
    );
  return open !== null && (open[1] === "'" || !/\$\(|`/.test(open[2] ?? ""));
}

/** A string in a list, such as the rules of a scanner: nothing else is on its line. */
function isListedPattern(text: string, index: number): boolean {
  const line = text.slice(Math.max(lineStart(text, index), index - 500), Math.min(lineEnd(text, index), index + 500));
  return /^\s{0,80}(?:[-*]\s+)?[([{]?\s?(?:["']?[\w.-]{1,40}["']?\s*[:=]\s*)?(?:r?["'/`]).*["'/`][gimsu]{0,4}\s{0,8}[,;\])}]{0,4}\s{0,8}(?:#.*|\/\/.*)?$/.test(
    line,
  );
}

function headerEnd(text: string): number {
  const header = /^\uFEFF?(?:[ \t]*\r?\n)*---[ \t]*\r?\n[\s\S]*?\n---[ \t]*(?:\r?\n|$)/.exec(text.slice(0, 64 * 1024));
  return header === null ? 0 : header[0].length;
}

/** The end of the page's introduction: its description, its title and the text before the second heading. */
function preambleEnd(text: string, header: number): number {
  const second = /\n#{1,6} [^\n]*\n[\s\S]*?\n(?=#{1,6} )/.exec(text.slice(Math.max(0, header - 1), header + 4_000));
  return second === null ? header : header + second.index + second[0].length;
}

function isInComment(text: string, index: number): boolean {
  const open = text.lastIndexOf("<!--", index);
  return open !== -1 && text.indexOf("-->", open) >= index;
}

/** The headings above a position, outermost first. Lines in fences do not count. */
function headingsAbove(text: string, index: number): string[] {
  const stack: { level: number; heading: string }[] = [];
  let fenced = "";
  for (const line of text.slice(0, index).split("\n")) {
    const mark = /^\s{0,3}(`{3,}|~{3,})/.exec(line)?.[1];
    if (mark !== undefined) {
      if (fenced === "") fenced = mark;
      else if (mark.startsWith(fenced)) fenced = "";
    }
    if (fenced !== "") continue;
    const [, hashes, title = ""] = /^\s{0,3}(#{1,6})\s+(.{1,300})/.exec(line) ?? [];
    const bold = /^\s{0,3}\*\*([^*]{2,80})\*\*:?\s*$/.exec(line)?.[1];
    if (hashes === undefined && bold === undefined) continue;
    const level = hashes?.length ?? 7;
    while ((stack.at(-1)?.level ?? 0) >= level) stack.pop();
    stack.push({ level, heading: bold ?? title });
  }
  return stack.map(({ heading }) => heading);
}

/** The start of the list, quotation or table that contains a line. */
function blockStart(text: string, index: number): number {
  let start = lineStart(text, index);
  const kind = /^\s{0,8}(>|[-*+] |\d{1,3}[.)] |\|)/.exec(text.slice(start, lineEnd(text, start)))?.[1];
  if (kind === undefined) return start;
  for (let count = 0; count < 60 && start > 0; count++) {
    const above = lineStart(text, start - 1);
    const line = text.slice(above, start - 1);
    if (line.trim() === "" || /^\s{0,3}#/.test(line)) break;
    if (!/^\s{0,8}(?:>|[-*+] |\d{1,3}[.)] |\|)|^\s{2,}/.test(line)) break;
    start = above;
  }
  return start;
}

/** The paragraph before a position, without headings. */
function introOf(text: string, start: number): string {
  const paragraphs = text
    .slice(Math.max(0, start - 700), start)
    .split(/\n[ \t]*\n/)
    .filter((part) => part.trim() !== "");
  return (paragraphs.at(-1) ?? "").replace(/^#{1,6} .*$/gm, "");
}

function commentsIn(text: string, from: number, to: number): string {
  return (text.slice(from, lineEnd(text, to)).match(/(?:^|\s)(?:#|\/\/|--)\s.*$/gm) ?? []).join("\n");
}

function lineStart(text: string, index: number): number {
  return text.lastIndexOf("\n", index - 1) + 1;
}

function lineEnd(text: string, index: number): number {
  const end = text.indexOf("\n", index);
  return end === -1 ? text.length : end;
}
