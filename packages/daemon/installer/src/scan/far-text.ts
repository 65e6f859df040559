/** Finds text that is not hidden but out of sight: far to the right of a line, or far below the last one. */
import type { SkillFinding } from "@aegis/contract/skill-install.ts";
import { visible } from "./hidden-text.ts";
import { isPage } from "./place.ts";

export type FarText = Pick<SkillFinding, "severity" | "rule" | "message" | "excerpt"> & { index: number };

/** More blanks than any screen has columns, and more empty lines than any author leaves. */
const farRight = 160;
const farBelow = 400;
const looked = 500;
const pauseAfter = 16 * 1024;
const [tab, newline, carriageReturn, blank] = [9, 10, 13, 32];
/** What runs something or reaches out. Pictures made of letters and aligned tables contain nothing of it. */
const acts =
  /(?<![.\w])(?:require|import|eval|exec\w{0,8}|spawn\w{0,6}|system|popen|fetch|urlopen|settimeout|setinterval|atob|function)\s{0,4}\(|\b(?:curl|wget|base64|powershell)\s/i;

/** Yields undefined where it may be interrupted. `text` is not folded: that removes the blanks. */
export function* findFarText(file: string, text: string): Generator<FarText | undefined> {
  let [blanks, lines] = [0, 0];
  for (let at = 0; at < text.length; at++) {
    if (at % pauseAfter === 0) yield undefined;
    const code = text.charCodeAt(at);
    if (code === newline) {
      [blanks, lines] = [0, lines + 1];
      continue;
    }
    if (code === blank || code === tab || code === carriageReturn) {
      blanks++;
      continue;
    }
    if (lines > farBelow) yield found("hidden.far-below", "has text far below the end that a reader sees", text, at);
    // A line that begins with blanks is indented.
    else if (blanks >= farRight && lines === 0 && !isPage(file) && acts.test(text.slice(at, at + looked)))
      yield found("hidden.far-right", "has code to the right of what an editor shows", text, at);
    [blanks, lines] = [0, 0];
  }
}

function found(rule: string, message: string, text: string, index: number): FarText {
  const [line = ""] = text.slice(index, index + looked).split("\n", 1);
  return { severity: "malicious", rule, message, index, excerpt: visible(line) };
}
