/** Repairs a header line by line. Line numbers stay the same, so that messages point at the right line. */
import type { Repair } from "./header-repair.ts";

export type Repaired = { yaml: string; repairs: Repair[] };

/** Replaces tabs with spaces. For an unresolved merge conflict, keeps the first side. */
export function straighten(yaml: string): Repaired {
  const repairs: Repair[] = [];
  let side: "none" | "ours" | "theirs" = "none";
  const lines = yaml.split("\n").map((line, index) => {
    const note = (message: string) => repairs.push({ line: index + 1, message, key: null });
    if (/^<{7}(?: |$)/.test(line)) {
      side = "ours";
      note("an unfinished merge: the first of the two sides is taken");
      return "";
    }
    if (side === "ours" && /^(?:={7}|\|{7}.*)$/.test(line)) {
      side = "theirs";
      return "";
    }
    if (side === "theirs") {
      if (/^>{7}(?: |$)/.test(line)) side = "none";
      return "";
    }
    if (!/^ *\t|^[ \t]*[\w"'-]+:\t/.test(line)) return line;
    note("expected blanks, found a tab");
    return line.replace(/^[ \t]+/, (blank) => blank.replaceAll("\t", "  ")).replace(/^( *[\w"'-]+:)\t+/, "$1 ");
  });
  return { yaml: lines.join("\n"), repairs };
}

const field = /^([ ]*(?:- )?["']?[A-Za-z_][\w .-]*["']?:[ ]+)(\S.*?)[ ]*$/;

/** Quotes unquoted values that are not valid YAML. Converts a comma-separated list on one line to a YAML list. */
export function quoteRisky(yaml: string, isFlow: (value: string) => boolean): Repaired {
  const repairs: Repair[] = [];
  /** Lines indented deeper than this belong to a text block. */
  let block = -1;
  const lines = yaml.split("\n").map((line, index) => {
    const indent = line.length - line.trimStart().length;
    if (block >= 0 && (line.trim() === "" || indent > block)) return line;
    block = /:[ ]+[|>][+-]?\d?[ ]*(?:#.*)?$/.test(line) ? indent : -1;
    const [, key, value] = field.exec(line) ?? [];
    if (key === undefined || value === undefined || block >= 0) return line;
    const repaired = repairValue(value, isFlow);
    if (repaired === null) return line;
    const name = /^["']?([\w-]+)/.exec(key)?.[1] ?? null;
    repairs.push({ line: index + 1, message: repaired.message, key: repaired.guessed ? name : null });
    return key + repaired.text;
  });
  return { yaml: lines.join("\n"), repairs };
}

type RepairedValue = {
  text: string;
  message: string;
  /** The author meant a value other than text, and it is unreadable. */
  guessed: boolean;
};

function repairValue(value: string, isFlow: (value: string) => boolean): RepairedValue | null {
  if (/^- ?\S/.test(value)) {
    const items = value.split(/(?:^|,? +)- ?/).filter((item) => item !== "");
    return {
      text: JSON.stringify(items),
      message: "expected each item of the list on a line of its own",
      guessed: false,
    };
  }
  const text = JSON.stringify(value.replace(/^(["'])(.*)\1$/, "$2"));
  if (/^[[{]/.test(value))
    return isFlow(value)
      ? null
      : { text, message: "looks like a list or a map but is none; it was taken as text", guessed: true };
  if (/^["']/.test(value))
    return isFlow(value)
      ? null
      : { text, message: "the quotes do not enclose the whole value; it was taken as text", guessed: true };
  if (!/: |:$| #|^[*&!%@`|>?,]|^-$/.test(value)) return null;
  const message = "expected quotes around a value with special characters; it was taken as text";
  return { text, message, guessed: false };
}
