/** Colours code in Markdown: comments, strings, numbers and common keywords. The same rules for every language. */
import type { Theme } from "./theme.ts";

const keywords = new Set(
  (
    "as async await break case catch class const continue def default defer del do elif else end enum except export " +
    "extends false finally fn for from func function go if impl import in interface is let match mod mut new nil none " +
    "not null or package pass pub raise return self static struct super switch then this throw trait true try type " +
    "undefined use var void while with yield"
  ).split(" "),
);
const token =
  /(?<comment>\/\/[^\n]*|(?<=^|\s)#[^\n]*|\/\*.*?\*\/|--\s[^\n]*)|(?<text>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|`(?:[^`\\]|\\.)*`)|(?<word>[A-Za-z_]\w*)|(?<number>\b\d[\w.]*)/g;

const longestLine = 500;
const mostLines = 500;

export function highlightCode(code: string, theme: Theme): string[] {
  return code.split("\n").map((line, index) => {
    if (index >= mostLines || line.length > longestLine) return line;
    return line.replace(token, (whole: string, ...rest: unknown[]) => {
      const groups = rest.at(-1) as Record<string, string | undefined>;
      if (groups.comment !== undefined) return theme.paint("dim", whole);
      if (groups.text !== undefined) return theme.paint("ok", whole);
      if (groups.number !== undefined) return theme.paint("wait", whole);
      return keywords.has(whole) ? theme.paint("run", whole) : whole;
    });
  });
}
