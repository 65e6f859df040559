/** What a prompt-only harness receives besides the messages: history that plugins add, and images. */
import { readFile } from "node:fs/promises";
import type { HistoryMessage, Prompt, PromptImage } from "../driver.ts";

/** The prompt's text, preceded by everything else the agent must know; each part is labelled. */
export function promptText({ text, history }: Pick<Prompt, "text" | "history">, notes: readonly string[] = []): string {
  const told = notes.map((note) => `[Aegis: ${note}]`);
  return [...told, ...(history.length === 0 ? [] : [renderHistory(history)]), text].join("\n\n");
}

/** As Base64, which harnesses and model APIs expect. */
export async function readImages(
  images: readonly PromptImage[],
): Promise<{ media_type: PromptImage["media_type"]; data: string }[]> {
  return Promise.all(
    images.map(async ({ path, media_type }) => ({ media_type, data: (await readFile(path)).toString("base64") })),
  );
}

function renderHistory(history: readonly HistoryMessage[]): string {
  const said = history.map(({ role, text }) => `${role === "user" ? "User" : "You"}: ${text}`);
  return ["[Aegis: earlier messages]", ...said, "[Aegis: end of earlier messages]"].join("\n");
}
