/**
 * Stems of words by what they do in a lure, without grammar: a stem matches every form of a word and every order of
 * words. A stem says little alone. The text is folded: lower case, straight quotes, no invisible characters.
 */

/** Words that begin with one of the Latin stems, and other words anywhere. */
function stems(latin: string, other: string): string {
  return String.raw`(?:(?<![\p{L}\p{N}])(?:${latin})|${other})`;
}

/** A place where commands are entered. */
export const shellPlace = stems(
  String.raw`terminal|powershell|pwsh|cmd\b|command (?:line|prompt|window)|shell\b|console?\b|konsol|bash\b|zsh\b|script editor|spotlight|(?:black|blue|run) (?:window|box|dialog)|run box|consola|eingabeauff|invite de comm|prompt dei comandi|wiersz\w{0,2} pole|komut satır|opdrachtprompt|(?:win(?:dows)?(?: key)?|super) ?[+-] ?[rx]\b`,
  "⊞|⌘|终端|命令行|控制台|終端|терминал|консол|командн\\S{0,4} строк|ターミナル|端末|コマンドプロンプト|터미널|명령 프롬프트",
);

/** A command that is not written here. */
export const commandNoun = stems(
  String.raw`commands?\b|one-?liners?\b|snippets?\b|scripts?\b|(?:install|setup|activation|shell|terminal) (?:line|string|step|text|code)|(?:that|the|this|whole|entire|start|today's|single) (?:line|string|text)\b|what (?:is|you|it|gets?) (?:shown|displayed|see|find|says|printed|written|listed|get)|(?:get|copy)[- ]command|(?:gr[ae]y|code|text) (?:box|block|field)|comand|commande|befehl|kommando|polecen|komend|komut|perintah|opdracht|l[eệ]nh\b|código|codice`,
  "命令|脚本|代码|代碼|指令|команд|скрипт|コマンド|スクリプト|명령|스크립트",
);

/** Enters something or has it run. */
export const actVerb = stems(
  String.raw`run(?:s|ning)?\b|execut|past(?:e|es|ing)\b|enter\b|insert|type\b|drop (?:it|that|this)|put (?:it|that|this|the)|feed|perform|carry out|press|hit\b|return\b|right-?click|invoke|launch|(?:command|cmd|ctrl|control) ?[-+] ?v\b|ejec[uú]t|p[eé]ga|col[ae]\b|cole|coll|exécut|lanc|führ|einfüg|ausführ|esegu|incoll|wklej|wykonaj|uruchom|yapıştır|çalıştır|jalankan|tempel|plak|voer\b`,
  "→|执行|运行|粘贴|回车|输入|貼上|выполн|запуст|встав|実行|貼り|ペースト|실행|붙여",
);

/** Takes something over without reading it, or by keystroke. */
export const copyVerb = stems(
  String.raw`cop(?:y|ied|ies|ying)\b|clipboard|grab\b|past(?:e|es|ing)\b|(?:press|hit|click|then) (?:return|enter|ok)\b|(?:command|cmd|ctrl|control) ?[-+] ?v\b|copi[ae]|copiez|kopi|skopiuj|kopyala|salin|pega|péga|col[ae]\b|cole|coll|einfüg|incoll|wklej|yapıştır|exactly as (?:shown|printed|displayed|written)|(?:shown|displayed|printed) (?:command|line|text|string|script|code)|as (?:shown|printed|displayed)\b|whole (?:line|string)|entire (?:line|string)|(?:take|get|use|fetch|pick|retrieve) (?:the|that|this|your) (?:\w{1,15} ){0,2}(?:line|command|string|text|snippet|script|one-?liner)`,
  "⌘|复制|粘贴|複製|скопир|встав|コピー|貼り|ペースト|복사|붙여",
);

/** Takes the content of the clipboard. */
export const pasteVerb = stems(
  String.raw`past(?:e|es|ing)\b|(?:command|cmd|ctrl|control) ?[-+] ?v\b|p[eé]ga|col[ae]\b|cole|collez|einfüg|incoll|wklej|yapıştır|tempel|plak\b`,
  "⌘ ?v|粘贴|貼上|встав|貼り|ペースト|붙여",
);

/** The page shows it. */
export const givenThere = stems(
  String.raw`(?:gives?|hands?|shows?|shown|displays?|displayed|prints?|printed|lists?|listed|reveals?|presents?|publish\S{0,3})\b`,
  "显示|показ|表示|표시",
);

/** People take these from pages for good reasons. */
export const credential = stems(
  String.raw`(?:cop(?:y|ies)|creat|generat|get|make|paste|take|request|obtain|need|set|export|enter|your)\S{0,5}\b[^.\n]{0,40}\b(?<!(?:win|windows|return|enter|command|cmd|super|option|shift|any) )(?:tokens?|keys?|secrets?)\b|(?:one-time|verification|device|auth\w{0,12}|pairing|invite|login|confirmation|access|2fa) code|webhook|client id|credentials`,
  "密钥|令牌|токен|ключ|トークン|토큰",
);

/** A word for a password, in its languages. The short ones are also verbs. */
const password = String.raw`(?:pass(?:word|code|phrase|wd|wort)\b|pwd\b|(?:pass|pw)\b(?=[ )*_]{0,3}(?:[:=→\x60"'*]|->|is\b))|contrase\S{2}|senha|mot de passe|kennwort|parola|wachtwoord|hasło|şifre|sandi|mật khẩu|密码|密碼|口令|парол\S{1,2}|パスワード|비밀번호|암호)`;
/** Words that mean a password only beside something closed. */
const key = String.raw`(?:key|code|pin|secret|phrase|word|clave|passcode)\b`;
/** What stands in the place of a value that the reader has to know. */
const noValue = String.raw`(?!(?:your|the|an?|you|our|my|see|same|from|required|protected|asked?|user|whatever|any|and|or|not|none|in|on|with|for|set|shown|string|null|undefined|true|false|process|os|env)\b)`;
const connector = String.raw`[ ,)*_]{0,3}(?:(?:which )?(?:is|lautet|es|est|è|to|->|→|:|=)[ *_\x60"'(]{1,4}|["'\x60*(]{1,3}|(?=[\w!@#-]{0,30}\d))`;
const value = String.raw`${noValue}[\w!@#.-]{2,40}`;
const closed = String.raw`(?:archiv|arquivo|архив|zip\b|rar\b|7z|extract|extra[ií]|unpack|unzip|unlock|open(?:s|ing|ed)?\b|encrypted|locked|protected|entpack|descomp|décomp|decomp|estra|rozpak|распак|解压|解壓|压缩|解凍|展開|압축)`;
/** Ends before the next sentence. */
const gap = String.raw`(?:(?!\.\s)[^\n]){0,60}?`;

/** A secret for something that is closed: "(archive pw x)", "`x` opens it", "it is encrypted, use x". */
export const lockAndKey = [
  String.raw`(?<![\p{L}/.-])${password}${connector}${value}`,
  String.raw`(?<![\p{L}/.-])${password}[^.\n]{0,25}\bis the name\b`,
  String.raw`(?<![\p{L}/.-])${closed}${gap}(?<![\p{L}/.-])${key}[ )*_]{0,3}(?:(?:is|:|=|->|→)[ *_\x60"'(]{1,4}|["'\x60*]{1,3}|(?=\d))${value}`,
  String.raw`(?<![\p{L}/.-])${key}${gap}(?<![\p{L}/.-])${closed}${gap}(?:(?:is|:|=|->|→)[ *_\x60"'(]{1,4}|["'\x60*]{1,3})${value}`,
  String.raw`(?<![\p{L}/.-])(?:encrypted|locked|protected)${gap}\b(?:use|enter|type|with)[ *_\x60"'(]{1,4}${value}`,
  String.raw`(?<![\p{L}/.-])(?:decrypt|unlock|extract|unzip|unpack)\p{L}{0,3} (?:it )?(?:with|using)(?:: ?["'\x60*]{0,3}|["'\x60* ]{1,4}(?=[\w!@#-]{0,30}\d)| ["'\x60*]{1,3})(?!(?:tar|unzip|7z|gunzip|the)\b)${value}`,
  String.raw`["'\x60*][\w!@#.-]{2,40}["'\x60*]{1,2} (?:opens|unlocks|decrypts|extracts)\b`,
].join("|");

/** Something that is packed. */
export const packed = stems(
  String.raw`archiv|arquivo|zip(?:s|ped)?\b|rar\b|7z\b|dmg\b|extract|unpack|unzip|unlock|decrypt|entpack|descomp|décomp|decomp|estrai|rozpak|pacchetto|paquete`,
  "[.](?:zip|rar|7z|dmg|iso)\\b|архив|распак|解压|解壓|压缩|解凍|展開|압축",
);

/** Starts a program. */
export const startVerb = stems(
  String.raw`run(?:s|ning)?\b|execut|launch|open(?:s|ing)?\b(?!-)|start(?:s|ing|en|e)?\b|double[- ]click|fire (?:it )?up|boot|install|activate|tray\b|background\b|elevated|as admin|ejec[uú]t|abr[ea]|exécut|lanc|ouvr|ausführ|starte|öffn|esegu|avvi|apri|uruchom|otwórz|çalıştır|aç\b|jalankan|buka\b|voer|\.exe\b`,
  "运行|执行|打开|запуст|откро|起動|実行|開い|실행|열",
);

/** Gets a program from somewhere. */
export const obtainVerb = stems(
  String.raw`download|fetch|get\b|grab|obtain|pull|take|find|install|locate|pick|choose|select|lives at|ships?|distribut|available|setup|releases?\b|binar|builds?\b|hosted|descarg|baix|télécharg|herunter|lade\b|scaric|pobierz|indir|unduh`,
  "下载|下載|скача|загруз|ダウンロード|다운로드",
);

/** A thing that is installed. */
export const toolNoun = stems(
  String.raw`(?:\p{L}{2,20})?(?:cli|agent|driver|helper|tool|utility|client|engine|bridge|core|runtime|connector|companion|component|module|service|installer|launcher|plugin|extension|desktop app|programm?|software|app)s?\b|herramienta|ferramenta|outil|hilfsprogramm|narzędzi|araç`,
  "工具|程序|组件|驱动|программ|утилит|драйвер|ツール|ソフト|프로그램",
);

/** It has no alternative. */
export const mustHave = stems(
  String.raw`must\b|mandatory|requir|prerequisite|ha(?:s|ve) to\b|prior to|needs? to be|obligator|obrigat|voraussetz|erforderlich|requis|wymaga|zorunlu|wajib|vereist`,
  "必须|必需|необходим|обязательн|必要|필수",
);

/** It must be there first. */
export const prerequisite = stems(
  String.raw`must|mandatory|required?|requires|requirement|prerequisite|needs? (?:to|the|a|its)|you(?:'ll| will)? need|has to|have to|prior to|before\b|once\b|first(?:-time)?\b|till?\b|until|unless|without|depends? on|relies on|dependenc|cannot|can't|won't|will not|only (?:then|after|works)|not available|obligator|obrigat|requis|voraussetz|erforderlich|zuerst|erst danach|antes|avant|moet\b|muss\b|musi\b|debe\b|deve\b|doit\b|wymaga|najpierw|gerekl|zorunlu|önce|wajib|harus|vereist`,
  "必须|必需|需要|请先|之前|前提|необходим|обязательн|перед|без этого|требу|利用前|必要|しないと|필수|먼저",
);
