/** Reads a Markdown page with fields at its top, and tolerates common mistakes. */
import { findHeader } from "./find-header.ts";
import { type HeaderFields, type Repair, readHeader } from "./header-repair.ts";

export type PageFields = Pick<HeaderFields, "fields" | "lineOf"> & {
  /** False if the page has no fields; the whole page is then the body. */
  present: boolean;
  body: string;
  /** The repairs that were applied, each with its line. */
  repairs: Repair[];
  /** Why the fields are unreadable; `fields` is then empty. */
  fault: { line: number; message: string } | null;
};

/** `known` contains the keys that start a field even if the surrounding text is not valid YAML. Never throws. */
export function readPageFields(text: string, known: ReadonlySet<string>): PageFields {
  const none = { fields: {}, repairs: [], lineOf: () => 1 };
  const { page, repairs } = findHeader(text, known);
  if (page.kind === "bare") return { present: false, body: page.body, ...none, fault: null };
  if (page.kind === "open") {
    const message = "expected a second --- line that ends the fields";
    return { present: true, body: text, ...none, fault: { line: page.line, message } };
  }
  const header = readHeader(page.yaml, page.before, known);
  if ("fault" in header) return { present: true, body: page.body, ...none, fault: header.fault };
  return {
    present: true,
    body: page.body,
    fields: header.fields,
    repairs: [...repairs, ...header.repairs],
    lineOf: header.lineOf,
    fault: null,
  };
}
