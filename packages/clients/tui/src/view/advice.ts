/** Advice from Aegis on a screen that has nothing else to show. */
import { plainLine } from "@aegis/lib/plain-text.ts";
import type { Theme } from "../theme.ts";
import { wrap } from "./transcript.ts";

/** What the offline agent is, and how to get a real one. */
export const aboutOffline: readonly string[] = [
  "It is the offline agent: it follows a script and uses no model. Try: hello",
  "For a real agent, install Claude Code, Codex, Gemini CLI or OpenCode, or set a model key. Then run: aegis doctor",
];

/** The sentences as rows that fit: a cut sentence would lose what to do. */
export function adviceRows(theme: Theme, sentences: readonly string[], width: number): string[] {
  return sentences.flatMap((sentence) => wrap(plainLine(sentence), width)).map((row) => theme.paint("dim", row));
}
