/** Finds commands that would end the daemon: without it no gate judges, and its sessions end. */
import { commandsIn } from "./shell-words.ts";

export type OwnProcess = {
  pid: number;
  /** As the system shows it: `node`, and the whole command line. */
  names: readonly string[];
  commandLine: string;
};

/** Returns the program that would end the daemon; null if there is none. */
export function daemonKill(text: string, own: OwnProcess): string | null {
  const commands = commandsIn(text);
  const kills = commands.some((words) => words.some((word) => isProgram(word, "kill")));
  for (const words of commands) {
    for (const [at, word] of words.entries()) {
      const rest = words.slice(at + 1);
      if (isProgram(word, "kill") && rest.some((one, index) => isOwnPid(one, index, own))) return "kill";
      if (isProgram(word, "pkill") && meansOwn(rest, own)) return "pkill";
      if (isProgram(word, "killall") && rest.some((one) => own.names.includes(one))) return "killall";
      if (kills && isProgram(word, "pgrep") && meansOwn(rest, own)) return "kill";
      if (kills && isProgram(word, "pidof") && rest.some((one) => own.names.includes(one))) return "kill";
    }
  }
  return null;
}

function isProgram(word: string, name: string): boolean {
  return word === name || word.endsWith(`/${name}`);
}

/** A pid, its group, or every process of the user. As the first word, `-1` is a signal. */
function isOwnPid(word: string, at: number, { pid }: OwnProcess): boolean {
  return word === String(pid) || word === `-${pid}` || (word === "-1" && at > 0);
}

/** The patterns of `pkill` and `pgrep` match part of the name, and with `-f` part of the command line. */
function meansOwn(words: readonly string[], { names, commandLine }: OwnProcess): boolean {
  const isWhole = words.some((word) => /^-\w*f\w*$|^--full$/.test(word));
  const patterns = words.filter((word) => !word.startsWith("-"));
  return patterns.some((pattern) => [...names, ...(isWhole ? [commandLine] : [])].some((text) => finds(pattern, text)));
}

/** An agent wrote the pattern, so it is compared by its plain parts and never run as a regular expression. */
function finds(pattern: string, text: string): boolean {
  return pattern.split("|").some((one) => {
    const parts = one.replace(/\[[^\]]*\]|\\./g, ".").split(/[.*+?^${}()]+/);
    return parts.every((part) => text.toLowerCase().includes(part.toLowerCase()));
  });
}
