/**
 * A rule finds an anchor first and then checks its surroundings, so that its time is linear: no pattern has a gap that
 * could start at every character. Text and patterns are in lower case.
 */
import type { FindingSeverity } from "@aegis/contract/skill-install.ts";

/** A pattern, or an object with the same interface. */
type Test = { test(text: string): boolean };

export type ScanRule = {
  rule: string;
  severity: FindingSeverity;
  message: string;
  /** A text without any of these words cannot match. */
  words: readonly string[];
  anchor: RegExp;
  /** What precedes the anchor on its line, what follows it, and what is anywhere on the line. */
  before?: Test;
  after?: Test;
  line?: Test;
  unless?: Test;
};

export type Form = Pick<ScanRule, "words" | "before" | "after" | "line" | "unless"> & { anchor: string };

export function forms(severity: FindingSeverity, rule: string, message: string, list: readonly Form[]): ScanRule[] {
  return list.map(({ anchor, ...form }) => ({ severity, rule, message, ...form, anchor: new RegExp(anchor, "g") }));
}
