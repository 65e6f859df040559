/** Classifies files that are not plain text, and reports whether content was not scanned. */
import type { FindingSeverity } from "@aegis/contract/skill-install.ts";

type Problem = { rule: string; severity: FindingSeverity; message: string };

/** The text to scan, or null; and a finding about the file. */
export function inspectBytes(file: string, bytes: Buffer): { text: string | null; problem: Problem | null } {
  const program = programKind(bytes);
  if (program !== null) return found("suspicious", "payload.program", `is a ${program} program`);
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return { text: bytes.toString("utf16le"), problem: null };
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return { text: swapped(bytes).toString("utf16le"), problem: null };
  if (!bytes.includes(0)) return { text: bytes.toString("utf8"), problem: null };
  const magic = bytes.subarray(0, 8).toString("latin1");
  if (media.some((start) => magic.startsWith(start)) || magic.slice(4, 8) === "ftyp" || isFont(file))
    return { text: null, problem: null };
  if (magic.startsWith("PK") && /\.(?:docx|xlsx|pptx|odt|ods|odp|dotx|potx|xltx|epub)$/i.test(file))
    return found("note", "unread.document", "is a document; nothing in it was looked at");
  if (archives.some((start) => magic.startsWith(start)))
    return found("suspicious", "unread.archive", "is an archive; nothing in it was looked at");
  if (magic.startsWith("%PDF-") || magic.startsWith("\u00d0\u00cf\u0011\u00e0"))
    return found("note", "unread.document", "is a document; nothing in it was looked at");
  // A shell can still run a script with a null byte, so its readable part is scanned.
  return {
    text: bytes.toString("utf8").replaceAll("\0", ""),
    problem: { rule: "unread.binary", severity: "suspicious", message: "is binary and of no known kind" },
  };
}

const media = [
  "\u0089PNG",
  "GIF8",
  "\u00ff\u00d8\u00ff",
  "RIFF",
  "OggS",
  "ID3",
  "fLaC",
  "BM",
  "\u0000\u0000\u0001\u0000",
  "wOFF",
  "wOF2",
  "OTTO",
];
const archives = [
  "PK\u0003\u0004",
  "PK\u0005\u0006",
  "\u001f\u008b",
  "7z\u00bc\u00af",
  "Rar!",
  "BZh",
  "\u00fd7zXZ",
  "\u0028\u00b5\u002f\u00fd",
];

function found(severity: FindingSeverity, rule: string, message: string): { text: null; problem: Problem } {
  return { text: null, problem: { rule, severity, message } };
}

function isFont(file: string): boolean {
  return /\.(?:ttf|otf|woff2?|eot)$/i.test(file);
}

function swapped(bytes: Buffer): Buffer {
  return Buffer.from(bytes.subarray(0, bytes.length & ~1)).swap16();
}

function programKind(bytes: Buffer): string | null {
  const magic = bytes.subarray(0, 4).toString("hex");
  if (magic === "7f454c46") return "Linux";
  if (["cffaedfe", "cefaedfe", "feedface", "feedfacf", "cafebabe"].includes(magic)) return "macOS or Java";
  if (magic === "0061736d") return "WebAssembly";
  return bytes.length > 64 && magic.startsWith("4d5a") ? "Windows" : null;
}
