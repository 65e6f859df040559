/** The request to a pooled agent: its text, its time limit, and the validation of the call. */

import { AegisError } from "@aegis/contract/errors.ts";
import { z } from "zod";

export const thoroughnessSchema = z.enum(["quick", "medium", "very thorough", "uncapped"]);
export type Thoroughness = z.infer<typeof thoroughnessSchema>;

/** Minutes until the turn is interrupted. */
const minutes: Record<Thoroughness, number | null> = { quick: 1, medium: 3, "very thorough": 6, uncapped: null };

const longestName = 100;
const longestPrompt = 50_000;

export function timeoutOf(thoroughness: Thoroughness): number | null {
  const limit = minutes[thoroughness];
  return limit === null ? null : limit * 60_000;
}

/** A name, or `plugin:name`. */
export function checkAgentName(name: string): void {
  if (name.trim() === "") throw new AegisError("invalid", "agent_name cannot be empty");
  if (name.length > longestName) {
    throw new AegisError("invalid", `agent_name is too long. Maximum length is ${longestName} characters`);
  }
  if (!/^[a-zA-Z0-9_:-]+$/.test(name)) {
    throw new AegisError(
      "invalid",
      "agent_name contains invalid characters: only letters, digits, _, - and the : of plugin:agent are valid",
    );
  }
}

export function checkPrompt(field: string, prompt: string): void {
  if (prompt.trim() === "") throw new AegisError("invalid", `${field} cannot be empty`);
  if (prompt.length > longestPrompt) {
    throw new AegisError("invalid", `${field} is too long. Maximum length is ${longestPrompt} characters`, {
      hint: "write it to a file and name the file in context_files",
    });
  }
}

export function taskText(prompt: string, files: readonly string[], thoroughness: Thoroughness): string {
  const limit = minutes[thoroughness];
  return [
    `Execute this task: ${prompt}`,
    files.length === 0 ? "" : `Read these files first:\n${files.map((file) => `- ${file}`).join("\n")}`,
    limit === null ? "" : `You have ${limit} minute${limit === 1 ? "" : "s"}; then your turn is interrupted.`,
  ]
    .filter((part) => part !== "")
    .join("\n\n");
}
