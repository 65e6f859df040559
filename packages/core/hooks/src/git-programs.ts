/**
 * Finds settings and variables with which git starts a program. As `.git/hooks` and `.git/config`, they decide what the
 * user's next git command runs, or hide a program in a command that looks like a harmless one.
 */
import { commandsIn } from "./shell-words.ts";

/** Returns the setting or variable through which a command makes git start a program; null if there is none. */
export function gitProgram(text: string): string | null {
  for (const words of commandsIn(text)) {
    const variable = words.map(programVariable).find((name) => name !== null);
    if (variable !== undefined && variable !== null) return variable;
    const git = words.findIndex((word) => /(?:^|\/)git(?:\.exe)?$/i.test(word));
    if (git === -1) continue;
    const rest = words.slice(git + 1);
    if (onlyShows(rest)) continue;
    if (/^(?:init|clone)$/.test(rest.find((word) => !word.startsWith("-")) ?? "") && rest.some(isTemplate))
      return "--template";
    const found = settingsIn(rest)
      .map(({ word, next }) => programSetting(word, next))
      .find((name) => name !== null);
    if (found !== undefined && found !== null) return found;
  }
  return null;
}

const variables =
  /^(GIT_(?:SSH|SSH_COMMAND|PAGER|EDITOR|SEQUENCE_EDITOR|EXTERNAL_DIFF|ASKPASS|PROXY_COMMAND|TEMPLATE_DIR|EXEC_PATH|CONFIG|CONFIG_\w+))=(.*)$/is;

function programVariable(word: string): string | null {
  const [, name = "", value = ""] = variables.exec(word) ?? [];
  return name === "" || harmless.test(value) ? null : name.toUpperCase();
}

/** Keys whose value git runs, or that name a file with further keys. Sections and names ignore case. */
const keys = [
  /^core\.(?:hookspath|pager|editor|sshcommand|fsmonitor|askpass|gitproxy|alternaterefscommand|virtualfilesystem)$/,
  /^(?:alias|pager|hook|guitool|browser|man|tar|instaweb)\./,
  /^(?:sequence\.editor|diff\.external|interactive\.difffilter|gpg\.(?:.+\.)?program|web\.browser)$/,
  /^credential\.(?:.+\.)?helper$/,
  /^filter\..+\.(?:clean|smudge|process)$/,
  /^diff\..+\.(?:command|textconv)$/,
  /^(?:difftool|mergetool)\..+\.(?:cmd|path)$/,
  /^merge\..+\.driver$/,
  /^remote\..+\.(?:uploadpack|receivepack|vcs)$/,
  /^submodule\..+\.update$/,
  /^trailer\..+\.(?:command|cmd)$/,
  /^(?:include\.path|includeif\..+\.path|init\.templatedir|uploadpack\.packobjectshook|gc\.recentobjectshook)$/,
  /^(?:protocol\.(?:.+\.)?allow|sendemail\..+|imap\.tunnel|url\..+\.(?:pushinsteadof|insteadof))$/,
];

function isTemplate(word: string): boolean {
  return /^--template(?:=|$)/.test(word);
}

/** The words that can be a setting: after `config`, and the values of the options for settings. */
function settingsIn(words: readonly string[]): { word: string; next: string | undefined }[] {
  const config = words.indexOf("config");
  return words.flatMap((word, at) => {
    const before = words[at - 1] ?? "";
    const isOne =
      (config !== -1 && at > config) || /^(?:-c|--config(?:-env)?)$/.test(before) || /^(?:-c.|--config)/.test(word);
    // Kept with its option, which says whether the value is a variable's name.
    return isOne ? [{ word: before === "--config-env" ? `--config-env=${word}` : word, next: words[at + 1] }] : [];
  });
}

/** `next` is the value if the word is only a key. */
function programSetting(word: string, next: string | undefined): string | null {
  const text = word.replace(/^(?:-c|--config(?:-env)?=)(?=\w)/, "");
  const equals = text.indexOf("=");
  const key = equals === -1 ? text : text.slice(0, equals);
  if (!keys.some((one) => one.test(key.toLowerCase()))) return null;
  const isVariable = word.startsWith("--config-env");
  const value = equals === -1 ? next : text.slice(equals + 1);
  const isHarmless = !isVariable && !/hookspath/i.test(key) && value !== undefined && harmless.test(value);
  return isHarmless ? null : key;
}

/** Programs that only show text or do nothing. */
const harmless = /^(?:cat|less|more|true|false|:|)$/;

/** `git config` that prints what is set. */
function onlyShows(words: readonly string[]): boolean {
  const at = words.indexOf("config");
  if (at === -1 || words.slice(0, at).some((word) => word.startsWith("-"))) return false;
  const rest = words.slice(at + 1);
  const options = rest.filter((word) => word.startsWith("-"));
  const names = rest.filter((word) => !word.startsWith("-"));
  if (!options.every((word) => showing.test(word))) return false;
  const isRead = options.some((word) => /^--(?:get|list)|^-l$/.test(word)) || /^(?:get|list)$/.test(names[0] ?? "");
  return isRead || names.length === 1;
}

const showing =
  /^(?:--get|--get-all|--get-regexp|--list|-l|--local|--global|--system|--worktree|--show-origin|--show-scope|--null|-z|--all|--type=\w+)$/;
