/**
 * The vocabulary of lures, by function and in the languages most common in registries. The text is folded: lower case,
 * straight quotes, no invisible characters. Languages without spaces between words have no word boundaries.
 */

/** Builds a group of Latin words with word boundaries, and other words anywhere. */
function words(latin: string, other: string): string {
  return String.raw`(?:\b(?:${latin})\b|${other})`;
}

/** Sends the reader to a page. */
export const visitWords = words(
  String.raw`visit(?:ing)?|join(?:ing)?|follow(?:ing)? (?:the |this |our |these )?(?:\w{1,12} ){0,2}(?:guide|instructions?|steps|tutorial|walkthrough|page)|open(?:ing)?|go(?:ing)? to|navigate to|head (?:over )?to|browse(?: to)?|click|(?:copy|take|get) (?:the |that |this )?(?:\w{1,12} ){1,2}(?:from|at|off)|visita|abre|abra|acced[ae]|acesse|visite|entra en|ve a|ouvrez|rendez-vous|allez|besuche?n?|gehe?n? (?:sie )?(?:auf|zu)`,
  "访问|打开|前往|进入|造訪|開啟|перейд|откро|откры|зайд|посет|öffne|アクセス|開い|開き|방문|열",
);

/** Sends the reader to a page, or only mentions it. */
export const mentionWords = words(
  `see|follow|check(?: out)?|access|load|from|via|at|use|using|consult|desde|depuis|von`,
  "从|にて|から|에서",
);

export const commandWords = words(
  `commands?|scripts?|snippets?|code|one-?liners?|line of code|installer|install(?:ation)? (?:line|string)|copy button|clipboard|(?:copied|short|right) text|instructions?|shell line|lines? (?:shown|displayed|listed|given|printed|you (?:see|find)|that (?:is|are|you))|(?:first|second|third|last|top|single|long|one) line|(?:shows|gives|hands|prints|displays) you|what(?:ever)? (?:you (?:see|find|get)|(?:it|the page|this page|that page|the site) (?:shows|says|gives|prints))|comandos?|código|commandes?|befehle?|skripts?|einzeiler`,
  "命令|脚本|代码|指令|腳本|команд|скрипт|код|コマンド|スクリプト|명령|스크립트",
);

export const runWords = words(
  String.raw`runs?|running|execute[sd]?|executing|pastes?|pasting|enter it|type it|drop (?:it |that |this )?in(?:to)?|put (?:it|that|this) in(?:to)?|(?:press|hit|confirm with) (?:return|enter)|(?:command|cmd|ctrl|control) ?[-+] ?v|type (?:the|that|this)|in(?:to)? (?:the |your |a )?(?:terminal|console|powershell|command prompt)|launch|invoke|ejecut[ae]\w{0,3}|p[eé]ga\w{0,4}|execut[ae]\w{0,3}|col[ae]\w{0,2}|rode|ex[eé]cut\w{1,4}|coll\w{1,4}|lancez|starten?|f[uü]hren?`,
  "执行|运行|粘贴|輸入|输入|貼上|выполн|запуст|встав|ausführ|einfüg|実行|貼り|ペースト|실행|붙여",
);

export const pasteWords = words(
  String.raw`past(?:e|es|ing)|(?:command|cmd|ctrl|control) ?[-+] ?v|(?:press|hit|confirm with) (?:return|enter)|p[eé]ga\w{0,4}|cole|coll\w{1,4}`,
  "粘贴|貼上|встав|einfüg|貼り|ペースト|붙여",
);

/** People copy keys and links from pages for good reasons. */
const noCommand = String.raw`(?!\s(?:\w{1,15}\s){0,3}(?:keys?|tokens?|links?|urls?|address(?:es)?|ids?|secrets?|passwords?|values?|examples?|files?|templates?|folders?)\b)`;

/** The command is not on this page: the reader takes it from somewhere without reading it first. */
export const copyWords = words(
  String.raw`cop(?:y|ies|ied|ying)\b${noCommand}|clipboard|(?:lines?|commands?|code|text|scripts?) (?:that )?(?:you (?:see|find|get)|(?:is |are )?(?:shown|displayed|given))|what(?:ever)? you (?:see|find|get)|copi[ae]\w{0,3}|copiez|kopier\w{0,3}`,
  "(?:复制|複製)(?!.{0,4}(?:密钥|密鑰|令牌|链接|連結|地址))|скопир(?!.{0,12}(?:ключ|токен|ссылк))|コピー|복사",
);

export const terminalWords = words(
  String.raw`terminals?|terminal\.app|powershell|pwsh|command prompt|command line|cmd(?:\.exe)?|shell|console|bash|zsh|run (?:dialog|box|window)|win(?:dows)?(?: key)? ?\+ ?r|consola|s[ií]mbolo del sistema|invite de commandes|console|konsole|eingabeaufforderung`,
  "终端|命令行|控制台|終端|терминал|консол|командн\\S{0,4} строк|ターミナル|端末|터미널",
);

/** A link whose text does not say where it leads. */
export const anonymousLink =
  /\[(?:this|the|that|our)?\s?(?:page|link|site|website|url|guide|snippet|address|web ?page|setup page|install(?:ation|er)? page|instructions?|command|script|here|click here|download(?: (?:from )?here| link)?)\]|\b(?:this|the following|that) (?:page|link|site|website|url|web ?page|address|snippet)\b|此页面|此链接|这个页面|该页面|这里|此处|此命令|эту? страниц|этой ссылк|сюда|здесь|esta p[aá]gina|este enlace|aqu[ií]\b|este link|cette page|ce lien|diese seite|diesen link|このページ|こちら|이 페이지|여기/;

export const extractWords = words(
  String.raw`extract(?:s|ed|ing|ion)?|unzip(?:s|ped|ping)?|unpack(?:s|ed|ing)?|decompress|uncompress|unarchive|unrar|decrypt|extra[ey]\w{0,4}|descompr\w{2,6}|descompact\w{1,4}|extra(?:yez|ire)|décompress\w{1,3}|entpack\w{1,3}|opens? with|unlock(?:s|ed)?`,
  "解压|解壓|распак|извлек|解凍|展開|압축",
);

export const archiveWords = words(
  `archives?|zip(?:ped)?|rar|7z|7-?zip|package|bundle|dmg|iso|tarball|archivo|arquivo|archive|archiv`,
  String.raw`\.(?:zip|rar|7z|dmg|iso|tgz|tar\.\w{2,3}|img)\b|压缩包|压缩文件|архив|圧縮|書庫|압축파일`,
);

export const downloadWords = words(
  String.raw`downloads?|downloading|grab|fetch|get|obtain|install|descarg\w{1,3}|baix[ae]\w{0,2}|t[eé]l[eé]charg\w{1,3}|herunterlad\w{0,3}|lade`,
  "下载|下載|скача|загруз|ダウンロード|다운로드",
);

/** Starts a program other than the skill's own scripts. */
export const startsProgram = new RegExp(
  words(
    String.raw`(?:run|runs|execute|launch|open|start|double-?click(?: on)?|(?:right|control|ctrl)-?click(?: on)?|activate|install)(?:[\s*_\x60"':,.-]{1,6}(?:the|this|that|its|as admin(?:istrator)?|on|up)){0,3}[\s*_\x60"':-]{1,8}(?:[\w.-]{0,40}(?:\.(?:exe|msi|dmg|pkg|app|bat|cmd|scr|ps1|jar|command|appimage|run)\b|(?:auth|tool|core|agent|cli|driver|setup|install(?:er)?|client|provider|runtime|helper|service|bootstrap(?:per)?|launcher|connector|utility|manager|bridge|engine|companion|server)\b)|(?:[\w.-]{1,40}\s){0,2}(?:executable|installer|setup|binary|program|application|app|agent|tool|utility|driver|client|file|service)\b|it\b)|(?:keep|leave) it (?:running|open)|ejecuta (?:el|la) \w{1,20}|execute o \w{1,20}|(?:ex[eé]cutez|lancez) (?:le|la|l') ?\w{1,20}|(?:starten sie|starte|öffne) \S{1,20}`,
    '运行(?:该|此)?(?:可执行|程序|文件)|运行\\S{0,3}[`"]?[\\w.-]{2,40}|然后运行|执行(?:该|此)?(?:程序|文件)|запусти\\S{0,4}|起動|実行し|실행',
  ),
);

/** Pressure: it must be done first. */
export const presses =
  /\b(?:required?|requires|requirement|must|mandatory|prerequisites?|important|critical|necessary|you(?:'ll| will)? (?:first )?need|needs? to be (?:installed|running)|depends? on|relies on|(?:is|are) not (?:yet )?(?:installed|running|active)|before (?:you |proceeding|continuing|using|starting|running|any|setting|download|the skill|this skill|trading|first)|first,|obligatori[oa]|requisitos?|antes de|erforderlich|voraussetzung\w{0,3}|pr[eé]requis|requis|avant de)\b|必须|必需|先决条件|前提条件|重要|需要|之前|使用前|请先|先安装|必要|前提|необходим|обязательн|перед (?:использ|запуск|начал)|требу|필수|먼저/;

/** Threats: it does not work otherwise. */
export const threatens =
  /\b(?:otherwise|or else)\b[^.\n]{0,30}\b(?:no|nothing|not|empty|fails?)\b|\b(?:no (?:data|results|output|access)|nothing works?)\b[^.\n]{0,30}\botherwise\b|\b(?:without|unless|until)\b[^.\n]{1,120}\b(?:will not|won't|cannot|can't|can not|does not|doesn't|unable|fails?|not (?:work|function|be able)|nothing works|returns? (?:an? )?(?:empty|error|nothing|zero)|(?:stays?|remains?) (?:at zero|empty|locked|disabled|blank|off)|(?:is|are) (?:wrong|empty|disabled|locked|incomplete))\b|\b(?:nothing works|returns? (?:an? )?(?:empty|error|nothing|zero)|(?:stays?|remains?) (?:at zero|empty|locked|disabled|blank|off)|(?:is|are) (?:wrong|empty|disabled|locked|incomplete))\b[^.\n]{0,60}\b(?:without|unless|until)\b|\b(?:will not|won't|does not|doesn't|cannot|can't) (?:work|function|run|start|operate|load|connect|continue|proceed)\b[^.\n]{0,60}\b(?:without|unless|until)\b|如果未|未安装|无法|否则|без \S{1,40}[^.\n]{0,60} не |sin [^.\n]{1,60} no (?:funciona|podr)|sem [^.\n]{1,60} n[aã]o|sans [^.\n]{1,60} ne |ohne [^.\n]{1,60}(?:nicht|funktioniert)|必要があります|動作しません|작동하지/;

/** A helper that no package manager knows. */
export const namesHelper =
  /\b(?:(?:open)?claw\w{0,8}|clawd\w{0,6}|molt\w{0,6}|skill|agent|auth|env|runtime|config|dev|poly\w{0,8}|bot|mcp|ai|wallet|trading|setup|core|system|browser|security|update)[-_ ]?(?:agent|core|cli|driver|win ?driver|runtime|provider|auth ?tool|tool|tools|toolkit|bootstrap(?:per)?|connector|bridge|helper|service|utility|installer|launcher|manager|authenticator|setup|component|module|companion|sidecar)\b|(?:claw\w{0,8}|clawd\w{0,6}|molt\w{0,6})\s{0,2}(?:驱动|组件|工具|服务|核心|драйвер|компонент|утилит)/;

/** Disables protections. */
export const lowersGuard =
  /\b(?:allow|permit|trust) (?:it|this|the (?:app|program|file)) (?:in|through|with) (?:windows |microsoft )?(?:defender|gatekeeper|smart ?screen|the firewall|your anti-?virus)\b|\b(?:accept|confirm|allow) (?:the|any) (?:firewall|defender|smart ?screen|gatekeeper) (?:question|prompt|warning|dialog)\b|\b(?:disable|turn(?:ing)? off|switch off|deactivate|pause|bypass|whitelist|add (?:an )?exclusion|ignore|dismiss)\b[^.\n]{0,50}\b(?:anti-?virus|defender|gatekeeper|smart ?screen|real-?time protection|security (?:warning|alert|prompt)s?|virus (?:warning|alert)s?|firewall)\b|\b(?:anti-?virus|defender|gatekeeper|smart ?screen|browser|virus scanner)\b[^.\n]{0,40}\b(?:complains?|warns?|flags?|blocks?|alerts?|objects?)\b[^.\n]{0,60}\b(?:exclusion|exception|ignore|allow|whitelist|anyway|disable|turn it off)\b|\b(?:more info|run anyway|keep anyway|open anyway)\b[^.\n]{0,40}\brun anyway\b|\b(?:get(?:ting)? past|bypass|ignore|skip|dismiss|click through|confirm)\b[^.\n]{0,60}\b(?:warnings?|unidentified developer|unknown (?:publisher|developer))\b|\b(?:(?:asked?|prompted|prompts?) (?:you )?for|enter|type) (?:your|the) (?:(?:mac|login|admin|system|computer) )?password\b[^.\n]{0,40}\b(?:normal|expected|fine|ok)\b|\bfalse positives?\b[^.\n]{0,60}\b(?:anti-?virus|defender|virus ?total)\b|关闭(?:杀毒|防火墙)|отключ\S{0,4} антивирус/;

/** An archive that needs a password, wherever the password is. */
export const isLocked =
  /\b(?:archive|zip|rar|7z|file|package|bundle)\b[^.\n]{0,20}\b(?:is|comes) (?:password[- ]?)?(?:protected|locked|encrypted)\b|\bpassword[- ]protected\b/;

/** Tells about others who fall for it. */
export const tellsOfOthers =
  /\b(?:victims?|targets?|users?|people|staff|employees) (?:are|is|were|get|gets) (?:told|asked|tricked|instructed|lured|urged)\b|\b(?:attackers?|scammers?|criminals|the (?:fake|malicious|hostile) (?:page|site|message)) (?:tells?|asks?|tricks?|instructs?|says?)\b/;

/** Contexts in which malware samples are handled legitimately. */
export const handlesSamples =
  /\b(?:malware|sandbox(?:ed)?|isolated|crackmes?|ctf|capture the flag|forensics?|malware ?bazaar|thezoo|vx-?underground|virus ?share|infected|detonate|reverse engineer\w{0,3})\b/;

/** A password that is given after a word for it. */
const passwordWord = String.raw`(?:\b(?:pass(?:word|code|phrase|wd)?|pwd|pw|contrase(?:ñ|n)a|clave|senha|mot de passe|passwort|kennwort)\b|密码|密碼|口令|парол[ьяюем]{1,2}|パスワード|비밀번호|암호)`;
const between = String.raw`[\s*_>|()\[\]-]{0,6}`;

/** Words that follow "password" without being one. */
const noSecret =
  "(?!(?:your|the|an?|you|our|my|provided|sent|see|same|from|if|is|required|protected|prompt|ask|user|whatever|any|to|and|or|not|none|via|by|in|on|with|for|shown|given|needed|optional|found|set|string|str|null|undefined|true|false|env|input|example)\\b)";

export const toldPassword = new RegExp(
  [
    String.raw`${passwordWord}${between}(?:is\b|=|:|->|for (?:the )?(?:archive|zip|file)\b[\s*_]{0,3}(?:is|:|=)?|为|是|es\b|est\b|ist\b|é\b)${between}["'\x60(]{0,2}${noSecret}[^\s"'\x60)<$%{]{2,40}`,
    String.raw`${passwordWord}${between}["'\x60][^\s"'\x60<$%{]{2,40}["'\x60]`,
    String.raw`\b(?:key|code|pin)${between}(?:is\b|=|:)?${between}["'\x60][^\s"'\x60<$%{]{2,40}["'\x60]${between}(?:to|for) (?:the )?(?:extract|unzip|unpack|open|decrypt|archive)`,
    String.raw`\b(?:extract|unzip|unpack|decompress|unlock|open)(?:s|ed|ing|ion)?\b[^.\n"'\x60]{0,40}\b(?:using|with)${between}(?::${between}["'\x60]?(?!(?:tar|unzip|7z|gunzip|gzip|bsdtar|unrar)\b)[\w-]{2,40}|["'\x60](?!-)[\w!@#.-]{2,40}["'\x60](?!\s?(?:command|tool|utility|-|\())|(?:the )?(?:key|code|pin)${between}:?${between}["'\x60][^\s"'\x60]{2,40})`,
    String.raw`\b(?:extract|unzip|unpack|decompress|unlock|open|decrypt)(?:s|ed|ing)?\b[^.\n"'\x60]{0,40}\b(?:using|with) (?:the )?(?:pass)?(?:phrase|word|key|code)${between}:?${between}["'\x60][^\s"'\x60<$%{]{2,40}["'\x60]`,
    String.raw`${passwordWord}[\s:=(]{1,3}(?=[\w!@#-]{0,30}\d)[\w!@#-]{4,40}`,
    String.raw`\b(?:zip|archive|rar|7z|file|package|bundle)\b[^.\n"'\x60]{0,20}\bopens? with${between}(?=[\w!@#-]{0,30}\d)[\w!@#-]{4,40}`,
    // Without quotes, only what has a digit is a code and not a word.
    String.raw`\b(?:extract|unzip|unpack|decompress|unlock|open|decrypt)(?:s|ed|ing)?\b[^.\n"'\x60]{0,30}\b(?:using|with) (?:the )?(?:pass(?:word|code|phrase)?|key|code|pin)${between}:?${between}(?=[\w!@#-]{0,30}\d)[\w!@#-]{3,40}`,
    "使用\\s{0,2}[`\"'][\\w!@#.: -]{2,40}[`\"']\\s{0,2}(?:命令|密码|作为密码)?\\s{0,2}解压",
  ].join("|"),
  "g",
);
